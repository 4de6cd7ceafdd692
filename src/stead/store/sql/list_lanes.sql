-- A page of the lanes that somebody has served or that orders stand on: who serves each, how many orders nobody has
-- taken and how many somebody has, and when its full state is wanted next.
WITH page AS (
    SELECT name FROM (SELECT name FROM lanes UNION SELECT lane FROM orders) known
     WHERE name COLLATE "C" > $1 ORDER BY name COLLATE "C" LIMIT $2
), served AS (
    SELECT lane, jsonb_agg(jsonb_build_object('name', a.name, 'version', a.version, 'last_seen', a.last_seen,
                                              'there', a.last_seen > now() - make_interval(secs => $3))
                           ORDER BY a.name) AS agents
      FROM agents a, unnest(a.lanes) lane GROUP BY lane
), standing AS (
    SELECT lane, count(*) FILTER (WHERE agent = '') AS waiting, count(*) FILTER (WHERE agent <> '') AS working
      FROM orders GROUP BY lane
)
SELECT page.name, coalesce(served.agents, '[]') AS agents, lanes.survey_at,
       coalesce(standing.waiting, 0) AS waiting, coalesce(standing.working, 0) AS working
  FROM page
  LEFT JOIN lanes ON lanes.name = page.name
  LEFT JOIN served ON served.lane = page.name
  LEFT JOIN standing ON standing.lane = page.name
 ORDER BY page.name COLLATE "C"
