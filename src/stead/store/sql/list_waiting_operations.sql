-- Operations on a path and below it that wait their turn, in order of path.
SELECT operation FROM queued
 WHERE path = $1 OR (path > rtrim($1, '/') || '/' AND path < rtrim($1, '/') || '0')
 ORDER BY path, turn LIMIT $2
