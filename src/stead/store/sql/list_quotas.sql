-- What something has and may have. Of hosts, the most that leases of the namespace have at a time from now on.
SELECT what, CASE what WHEN 'hosts' THEN count_booked_hosts(trim('/' FROM path), tstzrange(now(), 'infinity')) ELSE used END AS used, most
  FROM quotas WHERE path = $1 ORDER BY what
