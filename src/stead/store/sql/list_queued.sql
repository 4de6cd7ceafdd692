-- Operations that wait in a queue, the next one first, in the form of all operations: so many, and so many bytes of what
-- they request with the one that goes beyond, each with how many there were before they were counted in bytes.
SELECT id, action, kind, path, principal, reason, request, 1 AS total, 1 AS remaining, 0 AS failed, created_at,
       '' AS outcome, NULL::timestamptz AS ended_at, position, '[]'::jsonb AS reasons, '' AS says, 0 AS orders, found
  FROM (SELECT q.*, count(*) OVER () AS found,
               sum(octet_length(q.request::text)) OVER (ORDER BY q.position) - octet_length(q.request::text) AS before
          FROM (SELECT operation AS id, action, kind, path, principal, reason, request, created_at,
                       row_number() OVER (ORDER BY turn, operation) AS position
                  FROM queued WHERE queue = $1 ORDER BY turn, operation LIMIT $2) q) counted
 WHERE before < $3 ORDER BY position
