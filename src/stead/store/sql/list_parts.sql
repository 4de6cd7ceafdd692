-- Of a kind, what is below a path and at work, with the operation in progress, or in one of some states; of the latter,
-- where that is wanted, only what was brought there in the course of an operation on something above it.
SELECT r.path, r.state, r.lane, r.operation IS NOT NULL AS busy, r.operation, o.action
  FROM resources r LEFT JOIN operations o ON o.id = r.operation
 WHERE r.kind = $2 AND r.path > $1 || '/' AND r.path < $1 || '0'
   AND (r.operation IS NOT NULL
        OR (r.state = ANY ($3::text[])
            AND (NOT $4::boolean
                 OR (SELECT e.request ? 'under' FROM ended_operations e
                      WHERE e.path = r.path AND e.outcome = 'succeeded' ORDER BY e.ended_at DESC LIMIT 1))))
 ORDER BY r.path LIMIT $5
