-- Of agents and the lanes of sites that each serves, by number: the latest epoch that was heard of, of the agent or of
-- anybody who has connected from there; the sites; and the lanes of sites that were forgotten.
SELECT a.n, greatest(
           (SELECT k.epoch FROM agents k WHERE k.name = a.name),
           max((SELECT max(c.epoch) FROM connections c WHERE c.lane = l.lane)),
           max(greatest((r.condition ->> 'notify')::bigint, (r.condition ->> 'successor')::bigint)),
           0) AS epoch,
       coalesce(jsonb_agg(jsonb_build_array(r.lane, r.path, r.state)) FILTER (WHERE r.id IS NOT NULL), '[]') AS sites,
       coalesce(array_agg(f.lane ORDER BY f.lane) FILTER (WHERE f.lane IS NOT NULL AND r.id IS NULL), '{}') AS forgotten
  FROM unnest($1::text[]) WITH ORDINALITY AS a (name, n)
  LEFT JOIN unnest($2::bigint[], $3::text[]) AS l (n, lane) ON l.n = a.n
  LEFT JOIN resources r ON r.lane = l.lane AND r.kind = 'cloudlet'
  LEFT JOIN removed_sites f ON f.lane = l.lane
 GROUP BY a.n, a.name ORDER BY a.n
