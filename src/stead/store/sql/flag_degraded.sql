-- What reservations have that does not work, and what works again.
WITH lacking AS (
    INSERT INTO reservation_flags AS f (reservation, missing_resources)
    SELECT DISTINCT a.reservation, true FROM allocations a JOIN resources r ON r.path = a.reservation
     WHERE a.host = ANY (ARRAY(SELECT id FROM hosts WHERE NOT works)) AND NOT a.over AND NOT a.leaving
       AND upper(a.during) > to_timestamp($1) AND r.state IN ('pending', 'active')
    ON CONFLICT (reservation) DO UPDATE SET missing_resources = true WHERE NOT f.missing_resources
    RETURNING reservation
)
SELECT reservation FROM lacking
