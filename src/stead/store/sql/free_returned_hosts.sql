-- What was to be taken back from the reservations of a lease was.
DELETE FROM allocations a USING list_lease_reservations($1) r WHERE a.reservation = r.path AND a.leaving
