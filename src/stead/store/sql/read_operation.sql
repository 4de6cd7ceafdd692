-- An operation, whether it waits its turn, is under way or has ended.
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at,
       '' AS outcome, NULL::timestamptz AS ended_at, NULL::bigint AS position, '[]'::jsonb AS reasons, says, orders
  FROM operations WHERE id = $1
UNION ALL
SELECT operation, action, kind, path, principal, reason, request, 1, 1, 0, created_at, '', NULL, place_of(q), '[]', '', 0
  FROM queued q WHERE operation = $1
UNION ALL
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at, outcome, ended_at, NULL,
       reasons, says, orders
  FROM ended_operations WHERE id = $1
