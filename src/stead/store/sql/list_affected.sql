-- Resources of some kinds below a path, a page in order of path, with what policies may read of them. With $5 only what
-- is busy, or was brought where it is in the course of an operation on something above it; with $6 only those whose
-- names are numbers from that on.
SELECT r.kind, r.path, r.lane, r.spec -> 'labels' AS labels,
       CASE WHEN r.lane = '' THEN jsonb_build_object(
           'lane', r.spec -> 'lane', 'lanes', r.spec -> 'lanes', 'provider', r.spec -> 'provider',
           'region', r.spec -> 'region') ELSE '{}' END AS spec
  FROM resources r
 WHERE r.kind = ANY ($1::text[]) AND r.path > greatest($2 || '/', $3) COLLATE "C" AND r.path < $2 || '0'
   AND (NOT $5::boolean OR r.operation IS NOT NULL
        OR (SELECT e.request ? 'under' FROM ended_operations e
             WHERE e.path = r.path AND e.outcome = 'succeeded' ORDER BY e.ended_at DESC LIMIT 1))
   AND ($6::bigint IS NULL
        OR CASE WHEN r.path ~ '/[0-9]{1,15}$' THEN substring(r.path FROM '[0-9]+$')::bigint >= $6 ELSE false END)
 ORDER BY r.path LIMIT $4
