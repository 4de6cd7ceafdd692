-- All that happened to one path up to a time, also what has no position yet. Changes of one path come one after the
-- other, so that their order is the order in which they were written. To wait one's turn changes nothing.
SELECT position, at, path, kind, operation, principal, actor, trigger, detail, source, target, change, rejections, origin, request
  FROM journal WHERE path = $1 AND at <= $2 AND rejections = 0 AND NOT change ? 'queue'
 ORDER BY id
