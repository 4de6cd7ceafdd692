-- The events of leases. One in ERROR has the reason: of the notice of the end, why it was not delivered.
SELECT e.id, e.lease, e.kind, e.at, e.status, e.fired, e.fired_at,
       CASE WHEN e.status = 'ERROR' AND e.kind = 'before_end_lease' THEN coalesce((
           SELECT nullif(n.error, '') FROM lease_notices n WHERE n.lease = e.lease AND n.says ->> 'event' = e.id::text
            ORDER BY n.made_at DESC LIMIT 1), 'not delivered yet') ELSE '' END AS error
  FROM lease_events e WHERE e.lease = ANY ($1)
 ORDER BY e.lease, e.at, array_position(ARRAY['start_lease', 'before_end_lease', 'end_lease'], e.kind)
