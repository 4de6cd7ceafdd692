-- A page of resources below a path, in order of path.
SELECT path FROM resources
 WHERE ($1::text IS NULL OR kind = $1)
   AND path > greatest($2::text, $3::text) COLLATE "C" AND path < rtrim($2, '/') || '0'
 ORDER BY path LIMIT $4
