-- The reservations of leases, with what is not as it was booked.
SELECT l.path AS lease, r.path, r.state, r.lane, r.token, r.spec, r.facts, r.operation IS NOT NULL AS busy,
       coalesce(f.missing_resources, false) OR coalesce(f.lost, false) AS missing_resources,
       coalesce(f.resources_changed, false) AS resources_changed, coalesce(f.lost, false) AS lost,
       ARRAY(SELECT h.name FROM allocations a JOIN hosts h ON h.id = a.host
              WHERE a.reservation = r.path AND NOT a.leaving AND h.works ORDER BY h.name) AS works,
       ARRAY(SELECT h.name FROM allocations a JOIN hosts h ON h.id = a.host WHERE a.reservation = r.path AND NOT a.leaving
              ORDER BY h.name)
           AS hosts
  FROM unnest($1::text[]) l (path), LATERAL list_lease_reservations(l.path) r
  LEFT JOIN reservation_flags f ON f.reservation = r.path
 ORDER BY r.path
