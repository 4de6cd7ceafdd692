-- Moments of leases that have come, where the lease can follow now: hosts are not handed over before they were taken back
-- from whoever had them before. Whoever is told of them has some seconds before another is.
UPDATE lease_events e SET look_at = to_timestamp($1 + $3)
  FROM (SELECT d.lease, d.kind FROM lease_events d JOIN resources l ON l.path = d.lease
         WHERE d.status = 'UNDONE' AND d.at <= to_timestamp($1) AND d.look_at <= to_timestamp($1)
           AND l.operation IS NULL AND l.state = ANY (CASE d.kind
                   WHEN 'start_lease' THEN ARRAY['PENDING'] WHEN 'before_end_lease' THEN ARRAY['ACTIVE']
                   ELSE ARRAY['ACTIVE', 'ERROR'] END)
           AND NOT (d.kind = 'start_lease' AND EXISTS (
                   SELECT FROM reservations_of(d.lease) r JOIN allocations a ON a.reservation = r.path
                     JOIN allocations b ON b.host = a.host AND NOT b.over AND lower(b.during) < lower(a.during)))
         ORDER BY d.at LIMIT $2 FOR UPDATE OF d SKIP LOCKED) due
 WHERE e.lease = due.lease AND e.kind = due.kind
RETURNING e.lease, e.kind
