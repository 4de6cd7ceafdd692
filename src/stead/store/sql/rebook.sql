-- Book what an updated lease needs from now on.
SELECT rebook_lease($1, $2, $3, $4, $5)
