-- The timers of resources, each unless it has changed since it was read.
UPDATE resources r SET timers = u.timers, due = CASE WHEN u.timers <> '{}' THEN first_of(u.timers) END
  FROM unnest($1::bigint[], $2::bigint[], $3::jsonb[]) AS u (id, version, timers)
 WHERE r.id = u.id AND r.version = u.version
