-- Operations that wait in a queue, the next one first, in the form of all operations.
SELECT operation AS id, action, kind, path, principal, reason, request, 1 AS total, 1 AS remaining, 0 AS failed, created_at,
       '' AS outcome, NULL::timestamptz AS ended_at, row_number() OVER (ORDER BY turn, operation) AS position,
       '[]'::jsonb AS reasons, '' AS says, 0 AS orders
  FROM queued WHERE queue = $1 ORDER BY turn, operation LIMIT $2
