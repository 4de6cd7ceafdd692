-- What an idempotency key was used for.
SELECT operation, fingerprint FROM idempotency_keys WHERE principal = $1 AND key = $2
