-- Notices that are to be delivered now. A controller that gets them has some seconds before another does. The event of each is in
-- progress meanwhile, as far as its lease allows that; leases are locked, so that an update waits. Those of leases that a
-- restored cell holds wait for the release.
WITH due AS (
    SELECT n.id, n.lease, l.state, n.says ->> 'event' AS event
      FROM lease_notices n JOIN resources l ON l.path = n.lease AND l.kind = 'lease'
     WHERE n.next_at <= to_timestamp($1) AND NOT is_held(n.lease) ORDER BY n.next_at LIMIT $2 FOR UPDATE OF n, l SKIP LOCKED
), fired AS (
    UPDATE lease_events e SET status = 'IN_PROGRESS'
      FROM due JOIN lease_combinations c ON c.lease = due.state AND 'IN_PROGRESS' = ANY (c.events)
     WHERE e.lease = due.lease AND e.id::text = due.event AND e.status = 'ERROR'
)
UPDATE lease_notices n SET next_at = to_timestamp($1 + $3), tries = tries + 1
  FROM due WHERE n.id = due.id
RETURNING n.id, n.lease, n.event, n.says, n.url, n.tries
