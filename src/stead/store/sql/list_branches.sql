-- What lies directly below a path: a resource, or only a part of paths, each with how many resources of a kind are below
-- it in which state. The ways below each are jumped over, so that it costs as much as there are of them.
WITH RECURSIVE steps (at) AS (
    (SELECT path FROM resources WHERE path > $1::text || '/' AND path < $1 || '0' ORDER BY path LIMIT 1)
    UNION ALL
    SELECT (SELECT r.path FROM resources r
             WHERE r.path > CASE WHEN strpos(substr(s.at, length($1) + 2), '/') > 0
                                 THEN $1 || '/' || split_part(substr(s.at, length($1) + 2), '/', 1) || '/~'
                                 ELSE s.at END
               AND r.path < $1 || '0'
             ORDER BY r.path LIMIT 1)
      FROM steps s WHERE s.at IS NOT NULL
), children AS (
    SELECT DISTINCT $1 || '/' || split_part(substr(at, length($1) + 2), '/', 1) AS path FROM steps WHERE at IS NOT NULL
), fresh AS MATERIALIZED (
    SELECT path, kind, state, members FROM count_unnumbered($1 || '/', $1 || '0')
)
SELECT c.path, r.kind, r.state, r.operation IS NULL AS rests,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(s.kind, s.state, s.members)), '[]')
          FROM (SELECT a.kind, a.state, sum(a.members) AS members
                  FROM (SELECT n.kind, n.state, n.members FROM counts n WHERE n.path = c.path COLLATE "C"
                        UNION ALL
                        SELECT f.kind, f.state, f.members FROM fresh f WHERE f.path = c.path COLLATE "C") a
                 GROUP BY a.kind, a.state HAVING sum(a.members) > 0) s) AS counts
  FROM children c
  LEFT JOIN LATERAL (SELECT kind, state, operation FROM resources WHERE path = c.path COLLATE "C" OFFSET 0) r ON true
