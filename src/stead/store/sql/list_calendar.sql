-- Who has which host, from one time to another.
SELECT h.name AS host, regexp_replace(a.reservation, '/[^/]+$', '') AS lease, a.reservation,
       lower(a.during) AS start, upper(a.during) AS end, coalesce(l.state, '') AS status
  FROM hosts h JOIN allocations a ON a.host = h.id AND a.during && tstzrange($1, $2)
  LEFT JOIN resources l ON l.path = regexp_replace(a.reservation, '/[^/]+$', '')
 WHERE h.name = ANY ($3) ORDER BY h.name, lower(a.during)
