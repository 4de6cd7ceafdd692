-- The journal from a position on, optionally of one path and all below it.
SELECT position, at, path, kind, operation, principal, actor, trigger, word, source, target, change, refused, origin, request
  FROM journal
 WHERE position > $1
   AND ($2::text IS NULL OR path = $2 OR (path > rtrim($2, '/') || '/' AND path < rtrim($2, '/') || '0'))
 ORDER BY position LIMIT $3
