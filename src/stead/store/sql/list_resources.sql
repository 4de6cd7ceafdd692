-- A page of resources below a path, in order of path; of those whose names are numbers from $5 on, where that is given.
SELECT path FROM resources
 WHERE ($1::text IS NULL OR kind = $1)
   AND path > greatest($2::text, $3::text) COLLATE "C" AND path < rtrim($2, '/') || '0'
   AND ($5::bigint IS NULL
        OR CASE WHEN path ~ '/[0-9]{1,15}$' THEN substring(path FROM '[0-9]+$')::bigint >= $5 ELSE false END)
 ORDER BY path LIMIT $4
