CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_noted ON resources (path) WHERE note <> '';
