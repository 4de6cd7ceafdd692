-- Whether something below a path has something below it, as the numbered part of the journal has it.
SELECT EXISTS (SELECT FROM counts WHERE path > rtrim($1, '/') || '/' AND path < rtrim($1, '/') || '0') AS found
