-- Only one that nobody has or had: what was is told of it.
DELETE FROM hosts h WHERE name = $1 AND NOT EXISTS (SELECT FROM allocations a WHERE a.host = h.id) RETURNING name
