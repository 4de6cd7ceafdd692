-- Grants and denials of lanes: all, or those that count for a namespace, or for a lane.
SELECT namespace, lane, allowed, reason, changed_by, changed_at FROM lane_grants
 WHERE ($1::text IS NULL OR namespace IN ($1, '*')) AND ($2::text IS NULL OR pattern_covers(lane, $2))
 ORDER BY namespace, lane
