-- Orders that stand and that nobody has taken.
SELECT o.id, r.path FROM orders o JOIN resources r ON r.id = ANY (o.members) AND r.order_id = o.id
 WHERE o.agent = '' AND o.id > $1 ORDER BY o.id LIMIT $2
