-- What was settled since $3 without a report: by what an agent observed, or as unknown. The latest first; at most $1, on
-- the path $2 and below it, from before ($4, $5) on. Only where no other operation has done anything there since, and where
-- what was asked for was not done.
SELECT j.at, j.id, j.path, j.kind, j.operation, j.actor, j.trigger, j.detail, j.source, j.target, j.change,
       e.action, e.principal, e.created_at, e.path AS asked, e.ended_at IS NOT NULL AS ended,
       CASE WHEN e.path = j.path THEN nullif(e.outcome, '') ELSE coalesce(m.outcome, 'succeeded') END AS outcome
  FROM journal j
  LEFT JOIN resources r ON r.path = j.path
  LEFT JOIN operation_members m ON m.operation = j.operation AND m.path = j.path
  CROSS JOIN LATERAL (
        SELECT action, principal, created_at, path, outcome, ended_at FROM ended_operations WHERE id = j.operation
        UNION ALL
        SELECT action, principal, created_at, path, '', NULL FROM operations WHERE id = j.operation) e
 WHERE j.trigger IN ('observed', 'timed_out') AND j.operation IS NOT NULL AND j.at > $3
   AND (j.at, j.id) < ($4::timestamptz, $5::bigint)
   AND ($2 = '/' OR j.path = $2 OR (j.path > $2 || '/' AND j.path < $2 || '0'))
   AND j.operation IS DISTINCT FROM r.operation AND j.operation IS DISTINCT FROM r.hidden
   AND coalesce(CASE WHEN e.path = j.path THEN e.outcome ELSE coalesce(m.outcome, 'succeeded') END, '') <> 'succeeded'
   AND NOT EXISTS (SELECT FROM journal n
                    WHERE n.path = j.path AND n.at >= j.at AND n.id > j.id AND n.rejections = 0
                      AND (n.operation <> j.operation OR (n.operation = j.operation AND n.trigger IN ('observed', 'timed_out'))))
 ORDER BY j.at DESC, j.id DESC LIMIT $1
