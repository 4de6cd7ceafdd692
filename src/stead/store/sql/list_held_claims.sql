-- Exclusive claims below a path, with the operations that hold them, apart from $2.
SELECT c.path, c.operation, o.kind, o.action, o.principal AS "by", o.created_at AS since
  FROM claims c JOIN operations o ON o.id = c.operation
 WHERE c.path > $1::text || '/' AND c.path < $1 || '0' AND c.mode = 'x' AND c.operation IS DISTINCT FROM $2
 ORDER BY c.path
