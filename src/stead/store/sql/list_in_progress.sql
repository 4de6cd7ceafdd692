-- Resources that an operation works on, those first of which a timer is due first, with when their time is up and what
-- the operation says; in the namespaces $2, or in all.
SELECT r.path, r.kind, r.state, (r.timers ->> 'deadline')::float AS deadline, coalesce(o.says, '') AS says
  FROM (SELECT path, kind, state, timers, operation FROM resources
         WHERE due IS NOT NULL AND operation IS NOT NULL
           AND ($2::text[] IS NULL OR '/' || split_part(path, '/', 2) = ANY ($2))
         ORDER BY due LIMIT $1) r
  LEFT JOIN operations o ON o.id = r.operation
 WHERE r.timers ? 'deadline'
