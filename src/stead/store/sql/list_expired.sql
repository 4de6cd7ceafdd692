-- Reservations that are still handed over although the end of their lease has passed, each with its operation.
SELECT r.path, r.operation
  FROM lease_events d JOIN resources l ON l.path = d.lease AND l.state = 'STARTING', LATERAL list_lease_reservations(d.lease) r
 WHERE d.kind = 'end_lease' AND d.status = 'UNDONE' AND d.at <= to_timestamp($1) AND r.operation IS NOT NULL
 ORDER BY r.path LIMIT $2
