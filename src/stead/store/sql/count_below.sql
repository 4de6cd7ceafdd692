-- Of some paths, those that something lies below, and how much; what is more than a hundred counts as a hundred.
SELECT p.path, count(*) AS things
  FROM unnest($1::text[]) AS p (path),
       LATERAL (SELECT FROM resources r WHERE r.path > p.path || '/' AND r.path < p.path || '0' LIMIT 100) b
 GROUP BY p.path
