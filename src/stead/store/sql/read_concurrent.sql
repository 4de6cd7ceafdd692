-- What runs beside others on a resource: its place, and how far it has come.
SELECT o.id, o.action, c.path AS place, o.principal, o.created_at, o.total, o.remaining, o.failed, o.expanded,
       o.request ? 'cancelled' AS cancelled
  FROM claims c JOIN operations o ON o.id = c.operation
 WHERE (c.path = $1 OR (c.path > $1 || '/' AND c.path < $1 || '0')) AND o.path = $1 AND o.request ? 'place'
 ORDER BY o.created_at, o.id
