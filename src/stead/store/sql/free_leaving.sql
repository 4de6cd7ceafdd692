-- What was to be taken back from the reservations of a lease was.
DELETE FROM allocations a USING reservations_of($1) r WHERE a.reservation = r.path AND a.leaving
