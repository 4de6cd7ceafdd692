-- Queues whose head may begin, as far as claims tell, and those that stop and may be done.
SELECT head.queue FROM (SELECT DISTINCT ON (queue) queue, path FROM queued ORDER BY queue, turn, operation) head
  LEFT JOIN resources r ON r.path = head.path
 WHERE NOT is_queue_busy(head.queue, head.path)
   AND find_holder(jsonb_build_array(jsonb_build_object('path', head.path, 'mode', 'x')), r.hidden) IS NULL
UNION
SELECT path FROM queues q WHERE stopping AND NOT EXISTS (SELECT FROM queued w WHERE w.queue = q.path)
 LIMIT $1
