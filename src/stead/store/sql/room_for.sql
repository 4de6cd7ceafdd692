-- Quotas of those that something will belong to, and what it takes from each.
SELECT * FROM room_for($1, $2, $3)
