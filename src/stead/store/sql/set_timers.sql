-- The timers of resources ($4), each unless it has changed since it was read with the timers $3: an agent that renews its
-- custody changes them alone, and leaves the version as it is.
UPDATE resources r SET timers = u.timers, due = CASE WHEN u.timers <> '{}' THEN earliest_timer(u.timers) END
  FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::jsonb[]) AS u (id, version, before, timers)
 WHERE r.id = u.id AND r.version = u.version AND r.timers = u.before::jsonb
