-- Leases on the path $2 and below it, or those of $3, whose start is due and waits for hosts that were not taken back yet.
SELECT d.lease, l.state, d.at, ARRAY(SELECT DISTINCT a.host FROM count_awaited_hosts(d.lease) a ORDER BY 1) AS hosts
  FROM lease_events d JOIN resources l ON l.path = d.lease
 WHERE d.kind = 'start_lease' AND d.status = 'UNDONE' AND d.at <= to_timestamp($1) AND l.state = 'PENDING'
   AND ($2 = '/' OR d.lease = $2 OR (d.lease > $2 || '/' AND d.lease < $2 || '0'))
   AND ($3::text[] IS NULL OR d.lease = ANY ($3)) AND EXISTS (SELECT FROM count_awaited_hosts(d.lease))
 ORDER BY d.at, d.lease LIMIT $4
