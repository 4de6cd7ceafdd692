-- An operation, whether it is under way or has ended.
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at,
       '' AS outcome, NULL::timestamptz AS ended_at
  FROM operations WHERE id = $1
UNION ALL
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at, outcome, ended_at
  FROM ended_operations WHERE id = $1
