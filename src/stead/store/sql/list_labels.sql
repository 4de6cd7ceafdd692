-- The labels that resources of a kind below a path have, each set of them once, with one that has them.
SELECT spec -> 'labels' AS labels, min(path) AS path FROM resources
 WHERE kind = $1 AND path > $2 || '/' AND path < $2 || '0' AND spec ? 'labels'
 GROUP BY 1 ORDER BY 2 LIMIT $3
