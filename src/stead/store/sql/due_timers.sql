-- Resources with a timer that is due, in brief.
SELECT r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version, r.operation, r.hidden,
       r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.lane
  FROM cell, resources r WHERE r.due <= to_timestamp($1::float8) ORDER BY r.due LIMIT $2
