-- Whether something below a path has something below it.
SELECT EXISTS (SELECT FROM counts WHERE path > rtrim($1, '/') || '/' AND path < rtrim($1, '/') || '0')
       OR EXISTS (SELECT FROM count_unnumbered(rtrim($1, '/') || '/', rtrim($1, '/') || '0') WHERE path > rtrim($1, '/') || '/') AS found
