-- Moments of leases that have come, where the lease can follow now: hosts are not handed over before they were taken back
-- from the lease that had them before, unless the end has passed meanwhile: then the start is to fail. A controller that gets
-- them has some seconds before another does.
UPDATE lease_events e SET due_at = to_timestamp($1 + $3)
  FROM (SELECT d.lease, d.kind FROM lease_events d JOIN resources l ON l.path = d.lease
         WHERE d.status = 'UNDONE' AND d.at <= to_timestamp($1) AND d.due_at <= to_timestamp($1)
           AND l.operation IS NULL AND l.state = ANY (CASE d.kind
                   WHEN 'start_lease' THEN ARRAY['PENDING'] WHEN 'before_end_lease' THEN ARRAY['ACTIVE']
                   ELSE ARRAY['ACTIVE', 'ERROR'] END)
           AND NOT (d.kind = 'start_lease' AND EXISTS (SELECT FROM count_awaited_hosts(d.lease)) AND NOT EXISTS (
                   SELECT FROM lease_events e WHERE e.lease = d.lease AND e.kind = 'end_lease' AND e.at <= to_timestamp($1)))
         ORDER BY d.at LIMIT $2 FOR UPDATE OF d SKIP LOCKED) due
 WHERE e.lease = due.lease AND e.kind = due.kind
RETURNING e.lease, e.kind
