-- The end of a lease is near: note it, once, and where it is to be told. With a webhook, the event is in progress until that
-- has answered. The lease is locked, so that an update waits.
WITH it AS (
    SELECT path, kind, state, token, spec FROM resources WHERE path = $1 AND kind = 'lease' AND state = 'ACTIVE' FOR UPDATE
), fired AS (
    UPDATE lease_events e SET fired = fired + 1, fired_at = to_timestamp($2),
           status = CASE WHEN coalesce(it.spec ->> 'webhook', '') = '' THEN 'DONE' ELSE 'IN_PROGRESS' END
      FROM it
     WHERE e.lease = it.path AND e.kind = 'before_end_lease' AND e.status = 'UNDONE' AND e.at <= to_timestamp($2)
    RETURNING e.id, e.lease
), told AS (
    INSERT INTO lease_notices (id, lease, event, says, url, made_at, next_at)
    SELECT gen_random_uuid(), it.path, 'before_end_lease',
           jsonb_build_object('event', fired.id, 'lease', it.path, 'id', it.token, 'end', it.spec ->> 'end'),
           coalesce(it.spec ->> 'webhook', ''), to_timestamp($2),
           CASE WHEN coalesce(it.spec ->> 'webhook', '') <> '' THEN to_timestamp($2) END
      FROM fired JOIN it ON it.path = fired.lease
    RETURNING lease, says
)
INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change)
SELECT it.path, it.kind, 'clock', 'clock', 'next', 'before_end_lease', it.state, it.state, jsonb_build_object('notice', told.says)
  FROM told JOIN it ON it.path = told.lease
RETURNING path
