-- The lanes and labels that resources of a kind below a path have, each pair once, with one that has them.
SELECT lane, spec -> 'labels' AS labels, min(path) AS path FROM resources
 WHERE kind = $1 AND path > $2 || '/' AND path < $2 || '0'
 GROUP BY 1, 2 ORDER BY 3
