-- The members of a group by state, and how many its operation waits for, or has seen fail.
SELECT coalesce(o.remaining + (NOT o.expanded)::int, 0) AS remaining, coalesce(o.failed, 0) AS failed,
       (SELECT coalesce(jsonb_object_agg(c.state, c.members), '{}') FROM (
            SELECT m.state, count(*) AS members FROM resources m
             WHERE m.kind = $2 AND m.path > r.path || '/' AND m.path < r.path || '0'
             GROUP BY m.state) c) AS counts
  FROM resources r LEFT JOIN operations o ON o.id = r.operation
 WHERE r.path = $1
