-- Make a policy, or put another in its place.
INSERT INTO policies (name, text, changed_by) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET text = excluded.text, changed_by = excluded.changed_by, changed_at = now()
