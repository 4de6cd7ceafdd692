-- Book the hosts of a new lease.
SELECT book_lease($1, $2, $3, $4)
