-- How many members of a kind are in which state, at a path and for each group below it, as the numbered journal has it.
SELECT c.path, c.state, c.members, coalesce((r.spec ->> 'provider') || '.' || (r.spec ->> 'region'), '') AS lane
  FROM counts c LEFT JOIN resources r ON r.path = c.path
 WHERE (c.path = $1 OR (c.path > $1::text || '/' AND c.path < $1 || '0')) AND c.kind = $2 AND c.members > 0
 ORDER BY c.path, c.state
