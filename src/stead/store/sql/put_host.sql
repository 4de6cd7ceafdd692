-- A host that can be booked from now on, or has other properties. One that is a node works while that does.
INSERT INTO hosts AS h (name, lane, properties, node, works, why)
SELECT $1, $2, $3, $4, n.path IS NULL OR n.state = 'ENABLED',
       CASE WHEN n.path IS NULL OR n.state = 'ENABLED' THEN '' ELSE 'its node is ' || n.state END
  FROM (SELECT) one LEFT JOIN resources n ON n.path = $4 AND n.kind = 'node'
ON CONFLICT (name) DO UPDATE SET properties = EXCLUDED.properties, lane = CASE
    WHEN EXISTS (SELECT FROM allocations a WHERE a.host = h.id) THEN h.lane ELSE EXCLUDED.lane END
RETURNING name, lane, properties, node, works, why, added_at
