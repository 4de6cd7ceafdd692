-- Resources that were looked at, and are as they were believed to be.
UPDATE resources SET observed_at = now(), observe_at = now() + make_interval(secs => $2)
 WHERE path = ANY ($1::text[]) AND observe_at IS NOT NULL
