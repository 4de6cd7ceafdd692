-- An operation, whether it waits its turn, is under way or has ended; of one that has ended also why members were skipped, each
-- reason with how many: the five most frequent, and what is left.
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at,
       '' AS outcome, NULL::timestamptz AS ended_at, NULL::bigint AS position, '[]'::jsonb AS reasons, says, orders,
       '{}'::jsonb AS skipped
  FROM operations WHERE id = $1
UNION ALL
SELECT operation, action, kind, path, principal, reason, request, 1, 1, 0, created_at, '', NULL, queue_position(q), '[]', '', 0, '{}'
  FROM queued q WHERE operation = $1
UNION ALL
SELECT id, action, kind, path, principal, reason, request, total, remaining, failed, created_at, outcome, ended_at, NULL,
       reasons, says, orders, (
        SELECT coalesce(jsonb_object_agg(why, members), '{}') FROM (
            SELECT CASE WHEN place <= 5 THEN m.says ELSE 'other reasons' END AS why, sum(m.members) AS members FROM (
                SELECT m.says, count(*) AS members, row_number() OVER (ORDER BY count(*) DESC, m.says) AS place
                  FROM operation_members m WHERE m.operation = $1 AND m.outcome = 'skipped' GROUP BY m.says) m
             GROUP BY 1) few)
  FROM ended_operations WHERE id = $1
