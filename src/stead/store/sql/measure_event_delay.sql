-- How late the moments of leases came, of those that came since a time. What was asked for before its time is not one.
SELECT count(*) AS fired, coalesce(max(late), 0) AS worst,
       coalesce(percentile_cont(0.5) WITHIN GROUP (ORDER BY late), 0) AS median,
       coalesce(percentile_cont(0.99) WITHIN GROUP (ORDER BY late), 0) AS p99
  FROM (SELECT extract(epoch FROM fired_at - at)::float8 AS late FROM lease_events
         WHERE fired_at >= to_timestamp($1) AND fired_at >= at) e
