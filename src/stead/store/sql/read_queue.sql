-- The queue of one object.
SELECT q.path, q.stopping, q.created_at, o.id AS running,
       (SELECT count(*) FROM queued w WHERE w.queue = q.path) AS waiting
  FROM queues q LEFT JOIN operations o ON o.id = q.running WHERE q.path = $1
