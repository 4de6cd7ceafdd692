-- Resources that were looked at, and are as they were believed to be.
UPDATE resources SET seen_at = now(), look_at = now() + make_interval(secs => $2)
 WHERE path = ANY ($1::text[]) AND look_at IS NOT NULL
