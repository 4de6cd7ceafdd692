-- An operator's own policies.
SELECT name, text, changed_by, changed_at FROM policies ORDER BY name
