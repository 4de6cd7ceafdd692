-- What became of some operations; those under way, or that wait their turn, have no outcome.
SELECT id, '' AS outcome, NULL::float8 AS ended FROM operations WHERE id = ANY ($1::uuid[])
UNION ALL
SELECT operation, '', NULL FROM queued WHERE operation = ANY ($1::uuid[])
UNION ALL
SELECT id, outcome, extract(epoch FROM ended_at)::float8 FROM ended_operations WHERE id = ANY ($1::uuid[])
