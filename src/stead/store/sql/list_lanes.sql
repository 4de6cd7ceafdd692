-- A page of the lanes that somebody has served or that orders stand on: what they bear, what is under way and what waits
-- on each, who serves them, which namespaces may use them, and when their full state is wanted next.
WITH page AS (
    SELECT name FROM (SELECT name FROM lanes UNION SELECT lane FROM orders) known
     WHERE name > $1 ORDER BY name LIMIT $2
), served AS (
    SELECT lane, jsonb_agg(jsonb_build_object('name', a.name, 'version', a.version, 'last_seen', a.last_seen,
                                              'there', a.last_seen > now() - make_interval(secs => $3),
                                              'rejected', coalesce(a.rejected ->> lane, ''))
                           ORDER BY a.name) AS agents
      FROM agents a, unnest(a.lanes) lane GROUP BY lane
)
SELECT page.name, coalesce(l.members, p.members) AS most, p.regions, coalesce(served.agents, '[]') AS agents, l.inventory_at,
       ARRAY(SELECT g.namespace FROM lane_grants g
              WHERE g.allowed AND g.lane = ANY (lane_patterns(page.name)) AND may_use_lane(g.namespace, page.name)
             UNION SELECT space FROM split_part(page.name, '.', 2) space
                    WHERE owns_lane(space, page.name) AND may_use_lane(space, page.name)
             ORDER BY 1) AS namespaces,
       coalesce(l.throttled, 0) AS throttled, l.throttled_at, standing.*
  FROM page
  LEFT JOIN lanes l ON l.name = page.name
  LEFT JOIN providers p ON p.name = split_part(page.name, '.', 1)
  LEFT JOIN served ON served.lane = page.name,
  LATERAL (
    SELECT coalesce(sum(o.open) FILTER (WHERE o.granted), 0) AS in_flight,
           coalesce(sum(o.open) FILTER (WHERE NOT o.granted), 0) AS waiting,
           count(*) FILTER (WHERE o.granted AND o.agent = '') AS untaken
      FROM orders o WHERE o.lane = page.name
  ) standing
 ORDER BY page.name
