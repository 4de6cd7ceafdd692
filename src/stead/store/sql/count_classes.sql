-- The members below a path, counted by class and lane. A brief of each class stands for all of them.
SELECT 0::bigint AS id, '' AS path, $1::text AS kind, r.state, r.condition::text, 0 AS incarnation, 0::bigint AS fence,
       0::bigint AS version, NULL::uuid AS operation, NULL::uuid AS hidden, '{}' AS facts, '{}' AS timers,
       CASE WHEN r.next_spec IS NOT NULL THEN '{}' END AS next_spec, 0::bigint AS revision,
       0::bigint AS next_revision, r.lane, count(*) AS members
  FROM resources r
 WHERE r.kind = $1 AND r.path > rtrim($2, '/') || '/' AND r.path < rtrim($2, '/') || '0'
   AND ($3::uuid IS NULL OR EXISTS (
       SELECT FROM operation_members m WHERE m.operation = $3 AND m.path = r.path AND m.outcome NOT IN ('skipped', 'unchanged')))
 GROUP BY r.state, r.condition, r.next_spec IS NOT NULL, r.lane
