-- What goes on in the cell as numbers: operations under way and waiting, in the namespaces $3 or in all, counted up to $1; the calls to providers that
-- group operations and observations of the last hour took, and the members they were for; who is there; where too many calls were made.
SELECT (SELECT count(*) FROM (SELECT FROM operations
                                 WHERE $3::text[] IS NULL OR '/' || split_part(path, '/', 2) = ANY ($3)
                                 LIMIT $1) few) AS under_way,
       (SELECT count(*) FROM (SELECT FROM queued
                                 WHERE $3::text[] IS NULL OR '/' || split_part(path, '/', 2) = ANY ($3)
                                 LIMIT $1) few) AS waiting,
       calls.made + looks.made AS made, calls.members + looks.members AS members,
       (SELECT count(*) FROM agents WHERE last_seen > now() - make_interval(secs => $2)) AS there,
       (SELECT count(*) FROM agents WHERE last_seen <= now() - make_interval(secs => $2)) AS away,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(name, throttled, throttled_at) ORDER BY throttled_at DESC), '[]')
          FROM lanes WHERE throttled_at > now() - interval '1 hour') AS throttled
  FROM (SELECT coalesce(sum(orders), 0)::bigint AS made, coalesce(sum(greatest(total, orders)), 0)::bigint AS members
          FROM (SELECT orders, total FROM operations WHERE orders > 0
                UNION ALL
                SELECT orders, total FROM ended_operations
                 WHERE orders > 0 AND ended_at > now() - interval '1 hour') grouped) calls,
       (SELECT coalesce(sum(o.calls), 0)::bigint AS made, coalesce(sum(greatest(o.members, o.calls)), 0)::bigint AS members
          FROM observations o WHERE o.at > now() - interval '1 hour') looks
