-- Lanes on which orders have waited for room for so many seconds.
SELECT DISTINCT lane FROM orders WHERE NOT granted AND NOT held AND created_at <= now() - make_interval(secs => $1) LIMIT 1000
