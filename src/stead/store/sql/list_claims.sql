-- Every claim that is held on a path or below it, and every exclusive one above it, with who holds it.
SELECT c.path, c.mode, c.operation, coalesce(o.action, 'use') AS action, coalesce(o.principal, c.used_by) AS principal,
       o.created_at
  FROM claims c LEFT JOIN operations o ON o.id = c.operation
 WHERE (c.mode = 'x' AND c.path = ANY (ancestors_of($1))) OR c.path = $1 OR (c.path > rtrim($1, '/') || '/' AND c.path < rtrim($1, '/') || '0')
 ORDER BY c.path, c.operation LIMIT $2
