-- A page of the resources of each of some lanes, in order of path; nobody wants to know who has a claim in their way.
SELECT asked.number, r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version,
       r.operation, r.hidden, r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.order_id,
       r.lane, r.token, r.spec, r.observed_at, r.changed_at, r.created_at, '' AS op_by, NULL::timestamptz AS op_since,
       NULL::jsonb AS blocked
  FROM cell, unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked (lane, after, number), LATERAL (
       SELECT * FROM resources WHERE lane = asked.lane AND path > asked.after ORDER BY path LIMIT $3) r
 ORDER BY asked.number, r.path
