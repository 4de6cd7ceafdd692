-- Gives room to orders that wait on lanes: what may be sent now.
SELECT orders_as_told(grant_orders($1::text[], $2))
