-- Operations on a path and below it that are under way, in order of path. Claims would name those as well that only use
-- something, and there are many more of them.
SELECT id FROM operations
 WHERE path = $1 OR (path > rtrim($1, '/') || '/' AND path < rtrim($1, '/') || '0')
 ORDER BY path, id LIMIT $2
