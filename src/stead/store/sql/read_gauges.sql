-- What goes on in the cell, for metrics. Nothing is counted beyond $1, and nothing is read but what is under way: it costs
-- the same however many resources there are. An agent is there if it was heard of in $2 seconds.
SELECT c.last_position, c.bus_epoch, c.incarnation,
       (SELECT jsonb_build_array(count(*), extract(epoch FROM now() - min(created_at)))
          FROM (SELECT created_at FROM operations LIMIT $1) few) AS operations,
       (SELECT count(*) FROM (SELECT FROM queued LIMIT $1) few) AS queued,
       (SELECT jsonb_build_array(count(*), extract(epoch FROM now() - min(created_at)))
          FROM (SELECT created_at FROM orders WHERE NOT granted AND NOT held LIMIT $1) few) AS waiting,
       (SELECT jsonb_build_array(count(*), extract(epoch FROM now() - min(created_at)))
          FROM (SELECT created_at FROM orders WHERE granted AND agent = '' LIMIT $1) few) AS untaken,
       (SELECT extract(epoch FROM clock_timestamp() - at)::float8 FROM journal WHERE position IS NULL ORDER BY id LIMIT 1) AS unnumbered,
       (SELECT extract(epoch FROM clock_timestamp() - due)::float8 FROM resources WHERE due IS NOT NULL ORDER BY due LIMIT 1) AS late,
       (SELECT count(*) FROM agents WHERE last_seen > now() - make_interval(secs => $2)) AS there,
       (SELECT count(*) FROM agents WHERE last_seen <= now() - make_interval(secs => $2)) AS away,
       (SELECT count(*) FROM agent_identities WHERE revoked_at IS NULL AND expires_at > now()
           AND expires_at - now() < (expires_at - issued_at) / 4) AS expiring,
       (SELECT count(*) FROM (SELECT DISTINCT lane FROM (SELECT lane FROM orders LIMIT $1) few
                              EXCEPT SELECT unnest(lanes) FROM agents
                                      WHERE last_seen > now() - make_interval(secs => $2)) unserved_lanes) AS unserved,
       (SELECT extract(epoch FROM clock_timestamp() - coalesce((SELECT max(at) FROM backups),
                                                               (SELECT at FROM journal ORDER BY id LIMIT 1)))::float8) AS unsaved
  FROM cell c
