-- The journal from a position on, optionally of one path and all below it: so many lines, and so many bytes of what
-- changed with the line that goes beyond, each with how many there were before they were counted in bytes.
SELECT position, at, path, kind, operation, principal, actor, trigger, detail, source, target, change, rejections, origin, request,
       found
  FROM (SELECT l.*, count(*) OVER () AS found,
               sum(octet_length(l.change::text)) OVER (ORDER BY l.position) - octet_length(l.change::text) AS before
          FROM (SELECT position, at, path, kind, operation, principal, actor, trigger, detail, source, target, change,
                       rejections, origin, request
                  FROM journal
                 WHERE position > $1
                   AND ($2::text IS NULL OR path = $2
                        OR (path > rtrim($2, '/') || '/' AND path < rtrim($2, '/') || '0'))
                 ORDER BY position LIMIT $3) l) counted
 WHERE $4::bigint IS NULL OR before < $4 ORDER BY position
