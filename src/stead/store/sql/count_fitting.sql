-- How many of some resources, in order of path, have so many bytes together, with the one that goes beyond.
SELECT count(*)
  FROM (SELECT sum(size) OVER (ORDER BY path) - size AS before
          FROM (SELECT path, octet_length(spec::text) + octet_length(facts::text)
                       + coalesce(octet_length(next_spec::text), 0) AS size
                  FROM resources WHERE path = ANY ($1::text[])) sizes) counted
 WHERE before < $2
