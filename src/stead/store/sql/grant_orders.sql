-- Gives room to orders that wait on lanes: what may be sent now.
SELECT order_messages(grant_orders($1::text[], $2))
