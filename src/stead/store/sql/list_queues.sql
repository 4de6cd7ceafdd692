-- Queues of a path and of all below it, in order of path, with how many wait in each and what left it last.
SELECT q.path, q.stopping, q.created_at, o.id AS running,
       (SELECT count(*) FROM queued w WHERE w.queue = q.path) AS waiting
  FROM queues q LEFT JOIN operations o ON o.id = q.running
 WHERE (q.path = $1 OR (q.path > rtrim($1, '/') || '/' AND q.path < rtrim($1, '/') || '0')) AND q.path > $2
 ORDER BY q.path LIMIT $3
