-- Orders by number, as agents are told of them.
SELECT orders_as_told($1::bigint[])
