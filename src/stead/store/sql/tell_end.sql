-- The end of a lease is near: note it, once, and where it is to be told.
WITH fired AS (
    UPDATE lease_events e SET status = 'DONE', fired = fired + 1, fired_at = to_timestamp($2)
     WHERE lease = $1 AND kind = 'before_end_lease' AND status = 'UNDONE' AND at <= to_timestamp($2)
    RETURNING id, lease
), told AS (
    INSERT INTO lease_notices (id, lease, event, says, url, made_at, next_at)
    SELECT gen_random_uuid(), l.path, 'before_end_lease',
           jsonb_build_object('event', fired.id, 'lease', l.path, 'id', l.token, 'end', l.spec ->> 'end'),
           coalesce(l.spec ->> 'webhook', ''), to_timestamp($2),
           CASE WHEN coalesce(l.spec ->> 'webhook', '') <> '' THEN to_timestamp($2) END
      FROM fired JOIN resources l ON l.path = fired.lease
    RETURNING lease, says
)
INSERT INTO journal (path, kind, principal, actor, trigger, word, source, target, change)
SELECT l.path, l.kind, 'clock', 'clock', 'next', 'before_end_lease', l.state, l.state, jsonb_build_object('notice', told.says)
  FROM told JOIN resources l ON l.path = told.lease
RETURNING path
