-- Gives room to orders that wait on lanes, and divides those that do not fit: what may be sent now.
SELECT split_and_grant_orders($1::text[], $2)
