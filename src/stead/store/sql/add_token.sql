-- A token for a program, unless there is one of that name.
WITH made AS (
    INSERT INTO tokens (id, name, hash, roles, created_by, expires_at) VALUES ($1, $2, $3, $4, $5, $6)
    ON CONFLICT (name) DO NOTHING RETURNING id, name, roles, created_by, expires_at
)
SELECT id, record_access_change('token', 'create', created_by,
                       jsonb_build_object('name', name, 'roles', roles, 'expires_at', expires_at))
  FROM made
