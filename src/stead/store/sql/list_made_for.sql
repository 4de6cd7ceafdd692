-- What was made for a resource's use, in its namespace.
SELECT path FROM resources
 WHERE kind = ANY ($2::text[]) AND path > ((ancestors_of($1))[2] || '/') COLLATE "C" AND path < (ancestors_of($1))[2] || '0'
   AND spec ->> 'madeFor' = $1
