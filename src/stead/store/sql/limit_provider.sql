-- So many members at once in a region of a provider, and so many regions at once.
INSERT INTO providers (name, members, regions) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET members = EXCLUDED.members, regions = EXCLUDED.regions
