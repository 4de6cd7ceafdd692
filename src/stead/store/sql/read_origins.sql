-- Which requests operations under way come from.
SELECT id::text, request -> 'origin' AS origin FROM operations WHERE id = ANY ($1::uuid[]) AND request ? 'origin'
