-- All tokens, in order of name.
SELECT id, name, roles, created_by, created_at, expires_at, used_at FROM tokens ORDER BY name
