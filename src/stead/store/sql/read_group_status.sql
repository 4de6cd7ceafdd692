-- A group in full, with the operation on it, and how many members of a kind are in which state: in it, and in each group
-- below it, with that one's lane. Where nothing is done to it, with the path of what it is part of, or of what is in it, to
-- which something is done: groups first, then what began first. One question, since it is asked all the time; who else has a
-- claim is not part of it.
WITH current AS MATERIALIZED (
    SELECT c.path, c.state, sum(c.members)::bigint AS members
      FROM (SELECT n.path, n.state, n.members FROM counts n
             WHERE n.path >= $1 AND n.path < $1 || '0' AND (n.path = $1 OR n.path > $1 || '/') AND n.kind = $2
            UNION ALL
            SELECT u.path, u.state, u.members FROM count_unnumbered($1 || '/', $1 || '0') u WHERE u.path >= $1 AND u.kind = $2) c
     GROUP BY c.path, c.state HAVING sum(c.members) > 0
)
SELECT r.id, r.path, r.kind, r.state, r.condition::text, cell.incarnation, r.fence, r.version, r.operation, r.hidden,
       r.facts::text, r.timers::text, r.next_spec::text, r.revision, r.next_revision, r.order_id, r.lane, r.token, r.spec,
       r.observed_at, r.changed_at, r.created_at, coalesce(o.principal, '') AS op_by, o.created_at AS op_since, NULL::jsonb AS blocked,
       CASE WHEN o.id IS NOT NULL THEN
           jsonb_build_object('id', o.id, 'action', o.action, 'kind', o.kind, 'path', o.path, 'principal', o.principal,
                              'reason', o.reason, 'request', o.request, 'total', o.total, 'remaining', o.remaining,
                              'failed', o.failed, 'says', o.says, 'orders', o.orders) END AS under_way,
       CASE WHEN o.id IS NULL THEN
           (SELECT w.path FROM claims c JOIN operations w ON w.id = c.operation AND w.path = c.path
             WHERE c.mode = 'x' AND (c.path = ANY (ancestors_of($1)) OR (c.path > $1 || '/' AND c.path < $1 || '0'))
             ORDER BY w.kind = $2, w.created_at, w.path LIMIT 1) END AS acts_at,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(c.path, c.state, c.members, g.spec ->> 'provider',
                                                    g.spec ->> 'region') ORDER BY c.path, c.state), '[]')
          FROM current c LEFT JOIN resources g ON g.path = c.path) AS counts
  FROM cell, resources r LEFT JOIN operations o ON o.id = r.operation
 WHERE r.path = $1
