-- What a machine's disks were to become when it was destroyed by request; nothing where the clock destroyed it.
SELECT coalesce(e.request -> 'spec' ->> 'disks', 'delete') AS disks
  FROM ended_operations e
 WHERE e.path = $1 AND e.kind = 'machine' AND e.action = 'destroy' AND e.outcome = 'succeeded'
 ORDER BY e.ended_at DESC LIMIT 1
