-- It has arrived ($3 is empty), or not; and when it is tried again, if it is.
UPDATE lease_notices SET error = $3, next_at = to_timestamp($4),
       delivered_at = CASE WHEN $3 = '' THEN to_timestamp($2) END
 WHERE id = $1
