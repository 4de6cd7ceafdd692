-- Forget the keys of requests from before $1 seconds ago, at most $2; how many.
WITH gone AS (
    DELETE FROM idempotency_keys
     WHERE ctid = ANY (ARRAY (SELECT ctid FROM idempotency_keys WHERE created_at < now() - make_interval(secs => $1)
                               ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED))
    RETURNING 1
)
SELECT count(*) AS keys FROM gone
