-- Give somebody a role.
WITH given AS (
    INSERT INTO grants (subject, role, namespace, created_by) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING RETURNING *
)
SELECT record_access_change('grant', 'give', created_by, jsonb_build_object('subject', subject, 'role', role, 'namespace', namespace))
  FROM given
