-- A group in full, with the operation on it, and how many members of a kind are in which state: in it, and in each group
-- below it, with that one's lane, as the numbered journal has it. One question, since it is asked all the time; who
-- else has a claim is not part of it.
SELECT r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version, r.operation, r.hidden,
       r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.order_id, r.lane, r.token, r.spec,
       r.seen_at, r.changed_at, r.created_at, coalesce(o.principal, '') AS op_by, o.created_at AS op_since, NULL::jsonb AS blocked,
       CASE WHEN o.id IS NOT NULL THEN
           jsonb_build_object('id', o.id, 'action', o.action, 'kind', o.kind, 'path', o.path, 'principal', o.principal,
                              'reason', o.reason, 'request', o.request, 'total', o.total, 'remaining', o.remaining,
                              'failed', o.failed, 'says', o.says, 'orders', o.orders) END AS under_way,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(c.path, c.state, c.members, g.spec ->> 'provider',
                                                    g.spec ->> 'region') ORDER BY c.path, c.state), '[]')
          FROM counts c LEFT JOIN resources g ON g.path = c.path
         WHERE c.path >= $1 AND c.path < $1 || '0' AND (c.path = $1 OR c.path > $1 || '/')
           AND c.kind = $2 AND c.members > 0) AS counts
  FROM cell, resources r LEFT JOIN operations o ON o.id = r.operation
 WHERE r.path = $1
