-- Leases that lack something, where something can be done about it: another host is free, the one that failed works
-- again, or what was handed over was lost. Whoever is told of them has some seconds before another is.
UPDATE reservation_flags f SET due_at = to_timestamp($1 + $3)
  FROM (SELECT d.reservation FROM reservation_flags d
          JOIN resources r ON r.path = d.reservation
          JOIN resources l ON l.path = regexp_replace(d.reservation, '/[^/]+$', '')
         WHERE (d.missing_resources OR d.lost) AND d.due_at <= to_timestamp($1) AND l.operation IS NULL
           AND l.state IN ('PENDING', 'ACTIVE')
         ORDER BY d.due_at LIMIT $2 FOR UPDATE OF d SKIP LOCKED) due
  JOIN resources r ON r.path = due.reservation
 WHERE f.reservation = due.reservation
RETURNING regexp_replace(f.reservation, '/[^/]+$', '') AS lease,
          f.lost OR is_repairable(f.reservation, r.lane, r.spec) AS mendable
