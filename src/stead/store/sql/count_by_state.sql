-- How many resources of a kind are in which state in the whole cell, or in the namespaces $1: what they add up to. The ways below a
-- namespace are jumped over, so that it costs as much as there are namespaces, however much there is in them.
WITH RECURSIVE steps (at) AS (
    (SELECT path FROM counts WHERE path > '/' ORDER BY path LIMIT 1)
    UNION ALL
    SELECT (SELECT c.path FROM counts c
             WHERE c.path > CASE WHEN s.at ~ '^/[^/]+/' THEN '/' || split_part(s.at, '/', 2) || '/~' ELSE s.at END
             ORDER BY c.path LIMIT 1)
      FROM steps s WHERE s.at IS NOT NULL
), namespaces AS (
    SELECT DISTINCT '/' || split_part(at, '/', 2) AS path FROM steps WHERE $1::text[] IS NULL AND at IS NOT NULL
    UNION ALL
    SELECT unnest($1)
)
SELECT c.kind, c.state, sum(c.members)::bigint AS members
  FROM namespaces n,  -- one by one, whatever the planner thinks of how many there are
       LATERAL (SELECT kind, state, members FROM counts WHERE path = n.path COLLATE "C" OFFSET 0) c
 GROUP BY c.kind, c.state HAVING sum(c.members) > 0 ORDER BY c.kind, c.state
