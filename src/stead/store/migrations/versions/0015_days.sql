-- For whoever forgets the keys of requests, the oldest first.
CREATE INDEX IF NOT EXISTS idempotency_keys_created ON idempotency_keys (created_at);
