-- Quotas of those that something will belong to, and what it takes from each.
SELECT * FROM check_quotas($1, $2, $3)
