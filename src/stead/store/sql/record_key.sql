-- A request joined what was under way: its key is used up by that operation.
INSERT INTO idempotency_keys (principal, key, fingerprint, operation) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING
RETURNING 1
