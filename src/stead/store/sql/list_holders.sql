-- Whoever has a claim in the way of a change of a path: an exclusive one above it, any on it or below it.
SELECT c.path, c.operation, coalesce(o.action, 'use') AS action, coalesce(o.principal, c.used_by) AS "by",
       o.created_at AS since, coalesce(o.request ? 'place', false) AS beside
  FROM claims c LEFT JOIN operations o ON o.id = c.operation
 WHERE (c.mode = 'x' AND c.path = ANY (ancestors_of($1))) OR c.path = $1
    OR (c.path > rtrim($1, '/') || '/' AND c.path < rtrim($1, '/') || '0')
 ORDER BY c.path, c.operation LIMIT $2
