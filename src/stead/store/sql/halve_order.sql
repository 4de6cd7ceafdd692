-- Divides an order that was granted and is too large to be published: both halves.
SELECT halve_order($1)
