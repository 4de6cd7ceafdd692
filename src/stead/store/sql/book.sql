-- Book the hosts of a new lease.
SELECT book($1, $2, $3, $4)
