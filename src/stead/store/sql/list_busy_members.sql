-- Members of a group on which an operation is under way, from after one on.
SELECT path FROM resources
 WHERE $1 IN (kind, '') AND path > $2 || '/' AND path < $2 || '0' AND path > $3 AND operation = $4 ORDER BY path LIMIT $5
