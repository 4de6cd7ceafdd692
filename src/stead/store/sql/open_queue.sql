-- A queue by hand; one that is there stays as it is.
INSERT INTO queues (path) VALUES ($1) ON CONFLICT DO NOTHING
