-- What is to be told somewhere. Whoever is given it has some seconds before another is.
UPDATE lease_notices n SET next_at = to_timestamp($1 + $3), tries = tries + 1
  FROM (SELECT id FROM lease_notices WHERE next_at <= to_timestamp($1) ORDER BY next_at LIMIT $2
           FOR UPDATE SKIP LOCKED) d
 WHERE n.id = d.id
RETURNING n.id, n.lease, n.event, n.says, n.url, n.tries
