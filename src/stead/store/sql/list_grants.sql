-- Who has which role where.
SELECT subject, role, namespace, created_by, created_at FROM grants ORDER BY subject, namespace, role
