-- Book what an updated lease needs from now on.
SELECT rebook($1, $2, $3, $4, $5)
