-- A token for a program, unless there is one of that name.
INSERT INTO tokens (id, name, hash, roles, created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (name) DO NOTHING RETURNING id
