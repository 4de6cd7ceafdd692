-- What reservations have that does not work, and what works again.
WITH lacking AS (
    INSERT INTO reservation_flags AS f (reservation, missing_resources)
    SELECT DISTINCT a.reservation, true FROM hosts h JOIN allocations a ON a.host = h.id
      JOIN resources r ON r.path = a.reservation
     WHERE NOT h.works AND NOT a.leaving AND a.during && tstzrange(to_timestamp($1), NULL) AND r.state IN ('pending', 'active')
    ON CONFLICT (reservation) DO UPDATE SET missing_resources = true WHERE NOT f.missing_resources
    RETURNING reservation
)
SELECT reservation FROM lacking
