CREATE INDEX CONCURRENTLY IF NOT EXISTS allocations_host ON allocations (host, lower(during));
