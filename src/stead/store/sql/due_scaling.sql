-- Policies that are to be looked at now. Whoever is told of them has some seconds before they are told to another.
UPDATE scaling SET evaluate_at = to_timestamp($1 + $3)
 WHERE (namespace, name) IN (
        SELECT namespace, name FROM scaling WHERE evaluate_at <= to_timestamp($1) ORDER BY evaluate_at LIMIT $2
           FOR UPDATE SKIP LOCKED)
RETURNING namespace, name
