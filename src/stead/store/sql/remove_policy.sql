-- Take a policy away, says $2.
WITH gone AS (DELETE FROM policies WHERE name = $1 RETURNING *)
SELECT name, record_access_change('policy', 'remove', $2, jsonb_build_object('name', name, 'text', text)) FROM gone
