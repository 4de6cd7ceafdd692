-- Of some nodes, those that machines are on, and how many; what is more than a hundred counts as a hundred.
SELECT n.path, count(*) AS things
  FROM unnest($1::text[]) AS n (path), LATERAL (SELECT FROM list_machines_on(n.path) LIMIT 100) m
 GROUP BY n.path
