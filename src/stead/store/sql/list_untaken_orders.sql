-- Orders that stand and that nobody has taken, as agents are told of them.
SELECT order_messages(ARRAY(SELECT id FROM orders WHERE granted AND NOT held AND agent = '' AND id > $1 ORDER BY id LIMIT $2))
