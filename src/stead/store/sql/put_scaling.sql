-- Make a policy, or put another text in its place; what it did and what is known of its demand stays, as far as it still
-- concerns it.
WITH put AS (
    INSERT INTO scaling (namespace, name, id, policy, changed_by) VALUES ($1, $2, gen_random_uuid(), $3, $4)
    ON CONFLICT (namespace, name) DO UPDATE
       SET policy = excluded.policy, changed_by = excluded.changed_by, changed_at = now(), evaluate_at = 'epoch',
           woken = scaling.woken + 1
    RETURNING namespace, name
),
left_places AS (
    DELETE FROM scaling_places WHERE namespace = $1 AND name = $2 AND place <> ALL ($5::text[])
),
left_demand AS (
    DELETE FROM scaling_demand WHERE namespace = $1 AND name = $2 AND place <> ALL ($6::text[])
)
INSERT INTO scaling_places (place, site, namespace, name)
SELECT place, regexp_replace(place, '/[^/]+$', ''), put.namespace, put.name FROM put, unnest($5::text[]) place
ON CONFLICT DO NOTHING
