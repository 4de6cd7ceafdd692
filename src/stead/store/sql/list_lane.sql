-- A page of the resources on a lane, in order of path.
SELECT path FROM resources WHERE lane = $1 AND path > $2 ORDER BY path LIMIT $3
