-- Who has which host, from one time to another. What is booked of one host does not overlap, so only the last that begins
-- before the first time can reach into it.
WITH asked AS MATERIALIZED (
    SELECT h.id, (SELECT lower(a.during) FROM allocations a WHERE a.host = h.id AND lower(a.during) <= $1
                   ORDER BY lower(a.during) DESC LIMIT 1) AS since
      FROM hosts h WHERE h.name = ANY ($3)
), had AS MATERIALIZED (
    SELECT a.* FROM allocations a
     WHERE a.host = ANY (ARRAY(SELECT id FROM asked)) AND upper(a.during) > $1
       AND lower(a.during) >= (SELECT coalesce(min(since), $1) FROM asked) AND lower(a.during) < $2
)
SELECT h.name AS host, regexp_replace(a.reservation, '/[^/]+$', '') AS lease, a.reservation,
       lower(a.during) AS start, upper(a.during) AS end, coalesce(l.state, '') AS status, l.token AS lease_id,
       r.token AS reservation_id
  FROM had a JOIN hosts h ON h.id = a.host
  LEFT JOIN resources r ON r.path = a.reservation
  LEFT JOIN resources l ON l.path = regexp_replace(a.reservation, '/[^/]+$', '')
 ORDER BY h.name, lower(a.during)
