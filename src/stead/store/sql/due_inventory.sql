-- A lane whose full state is wanted now; whoever is told of it has some time before another is.
UPDATE lanes SET inventory_at = now() + make_interval(secs => $1)
 WHERE name = (SELECT name FROM lanes WHERE inventory_at <= now() ORDER BY inventory_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING name
