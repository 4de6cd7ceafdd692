-- Resources by path in full, each with whoever has a claim in its way.
SELECT r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version, r.operation, r.hidden,
       r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.order_id, r.lane, r.token, r.spec,
       r.observed_at, r.changed_at, r.created_at, coalesce(o.principal, '') AS op_by, o.created_at AS op_since,
       coalesce(h.principal, '') AS hidden_by, h.created_at AS hidden_since,
       find_holder(jsonb_build_array(jsonb_build_object('path', r.path, 'mode', 'x')),
                 coalesce(r.hidden, r.operation)) AS blocked
  FROM cell, resources r LEFT JOIN operations o ON o.id = r.operation LEFT JOIN operations h ON h.id = r.hidden
 WHERE r.path = ANY ($1::text[])
