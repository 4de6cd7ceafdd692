-- Give somebody a role.
INSERT INTO grants (subject, role, namespace, created_by) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING
