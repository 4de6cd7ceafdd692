CREATE INDEX CONCURRENTLY IF NOT EXISTS idempotency_keys_created ON idempotency_keys (created_at);
