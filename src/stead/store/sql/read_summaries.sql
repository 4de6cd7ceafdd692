-- Resources by path in brief.
SELECT r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version, r.operation, r.hidden,
       r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.lane
  FROM cell, resources r WHERE r.path = ANY ($1::text[])
