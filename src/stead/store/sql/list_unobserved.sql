-- Resources of a kind below a path that were not observed just now, by state and by why: those at $3 were observed, those at
-- $4 were to be and could not be, for the reasons $5.
SELECT r.state, coalesce(t.why, CASE WHEN r.operation IS NOT NULL THEN 'moving' END) AS why, count(*) AS members,
       min(r.observed_at) AS oldest
  FROM resources r LEFT JOIN unnest($4::text[], $5::text[]) AS t (path, why) ON t.path = r.path
 WHERE r.kind = $1 AND r.path > $2::text || '/' AND r.path < $2 || '0'
   AND NOT EXISTS (SELECT FROM unnest($3::text[]) AS o (path) WHERE o.path = r.path)
 GROUP BY 1, 2 ORDER BY 1, 2
