-- Nobody is let in with it any more, says $2; what was opened with it goes, too.
WITH gone AS (DELETE FROM tokens WHERE name = $1 RETURNING id, name, roles)
SELECT id, name, roles, record_access_change('token', 'revoke', $2, jsonb_build_object('name', name, 'roles', roles)) FROM gone
