-- Lanes with orders that no agent serves who was heard of in $1 seconds; at most $2, of as many orders as are looked at.
SELECT lane FROM (SELECT DISTINCT lane FROM (SELECT lane FROM orders LIMIT 10000) few) wanted
EXCEPT SELECT unnest(lanes) FROM agents WHERE last_seen > now() - make_interval(secs => $1)
ORDER BY 1 LIMIT $2
