-- Who is next in a queue, and whether something that it shares the queue with is in its way.
SELECT w.operation, w.queue, w.path, w.kind, w.action, w.principal, w.actor, w.reason, w.request,
       is_queue_busy(w.queue, w.path) AS busy
  FROM queued w WHERE w.queue = $1 ORDER BY w.turn, w.operation LIMIT 1
