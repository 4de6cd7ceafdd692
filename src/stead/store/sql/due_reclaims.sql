-- Leases that were ended and still have hosts, because taking them back failed. Whoever is told of them has some seconds
-- before another is, and each time as many more as have passed since the end. The states are spelled out as in their index.
UPDATE lease_events e
   SET due_at = to_timestamp($1) + LEAST(GREATEST(to_timestamp($1) - e.fired_at, $3 * interval '1 second'), interval '1 hour')
  FROM (SELECT d.lease FROM resources l JOIN lease_events d ON d.lease = l.path AND d.kind = 'end_lease'
         WHERE l.state IN ('Failed', 'Undefined', 'CreateError', 'UpdateError', 'DeleteError', 'ERROR', 'error', 'failed',
                           'degraded', 'Offline')
           AND l.kind = 'lease' AND l.state = 'ERROR' AND l.operation IS NULL
           AND d.status = 'ERROR' AND d.due_at <= to_timestamp($1)
           AND EXISTS (SELECT FROM list_lease_reservations(d.lease) r JOIN allocations a ON a.reservation = r.path WHERE NOT a.over)
         LIMIT $2 FOR UPDATE OF d SKIP LOCKED) due
 WHERE e.lease = due.lease AND e.kind = 'end_lease'
RETURNING e.lease
