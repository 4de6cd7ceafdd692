-- Orders by number, as agents are told of them.
SELECT order_messages($1::bigint[])
