SELECT id, lease, kind, at, status, fired, fired_at FROM lease_events WHERE lease = ANY ($1)
 ORDER BY lease, at, array_position(ARRAY['start_lease', 'before_end_lease', 'end_lease'], kind)
