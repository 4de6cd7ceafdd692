-- What something has and may have.
SELECT what, used, most FROM quotas WHERE path = $1 ORDER BY what
