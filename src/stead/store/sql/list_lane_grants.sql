-- Grants and denials of lanes: all, or those that count for a namespace.
SELECT namespace, lane, allowed, reason, changed_by, changed_at FROM lane_grants
 WHERE $1::text IS NULL OR namespace IN ($1, '*') ORDER BY namespace, lane
