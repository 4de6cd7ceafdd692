-- Resources that use others and may be done with them: gone, or at rest in one of the given states.
SELECT DISTINCT c.used_by AS path FROM claims c LEFT JOIN resources r ON r.path = c.used_by
 WHERE c.used_by <> '' AND (r.id IS NULL OR (r.operation IS NULL AND r.state = ANY ($1::text[])))
 LIMIT $2
