-- Resources of some kinds below a path, one for each set of values of some labels and, where that is wanted, for each
-- lane. With $5 and $6 as in list_affected.sql.
SELECT c.kind, min(c.path) AS path, c.lane, c.labels, c.spec
  FROM (SELECT r.kind, r.path, CASE WHEN $4::boolean THEN r.lane ELSE '' END AS lane,
               (SELECT jsonb_object_agg(l.key, l.value)
                  FROM jsonb_each(CASE jsonb_typeof(r.spec -> 'labels') WHEN 'object' THEN r.spec -> 'labels' ELSE '{}' END) l
                 WHERE l.key = ANY ($3::text[])) AS labels,
               CASE WHEN $4::boolean AND r.lane = '' THEN jsonb_build_object(
                   'lane', r.spec -> 'lane', 'lanes', r.spec -> 'lanes', 'provider', r.spec -> 'provider',
                   'region', r.spec -> 'region') ELSE '{}' END AS spec
          FROM resources r
         WHERE r.kind = ANY ($1::text[]) AND r.path > $2 || '/' AND r.path < $2 || '0'
           AND (NOT $5::boolean OR r.operation IS NOT NULL
                OR (SELECT e.request ? 'under' FROM ended_operations e
                     WHERE e.path = r.path AND e.outcome = 'succeeded' ORDER BY e.ended_at DESC LIMIT 1))
           AND ($6::bigint IS NULL
                OR CASE WHEN r.path ~ '/[0-9]{1,15}$' THEN substring(r.path FROM '[0-9]+$')::bigint >= $6 ELSE false END)
       ) c
 GROUP BY c.kind, c.lane, c.labels, c.spec ORDER BY 2
