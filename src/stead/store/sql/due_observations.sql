-- Settled resources that are to be looked at now. Whoever is told of them has some time to do it before they are told
-- to another.
UPDATE resources SET observe_at = now() + make_interval(secs => $2)
 WHERE id IN (SELECT id FROM resources WHERE observe_at <= now() ORDER BY observe_at LIMIT $1 FOR UPDATE SKIP LOCKED)
RETURNING path
