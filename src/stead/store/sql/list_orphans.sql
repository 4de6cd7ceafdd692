-- What was found at least twice and nobody owns, the oldest first.
SELECT lane, token, path, state, facts, first_seen, last_seen FROM orphans
 WHERE last_seen > first_seen AND ($1::text IS NULL OR lane = $1) ORDER BY first_seen, lane, token LIMIT $2
