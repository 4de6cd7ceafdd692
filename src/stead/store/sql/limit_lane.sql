-- So many members at once on a lane.
INSERT INTO lanes (name, members) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET members = EXCLUDED.members
