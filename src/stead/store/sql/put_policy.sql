-- Make a policy, or put another in its place.
WITH made AS (
    INSERT INTO policies (name, text, changed_by) VALUES ($1, $2, $3)
    ON CONFLICT (name) DO UPDATE SET text = excluded.text, changed_by = excluded.changed_by, changed_at = now()
    RETURNING *
)
SELECT record_access_change('policy', 'put', changed_by, jsonb_build_object('name', name, 'text', text)) FROM made
