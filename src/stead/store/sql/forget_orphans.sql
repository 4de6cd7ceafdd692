-- What was not found again on a lane since a time.
DELETE FROM orphans WHERE lane = $1 AND last_seen < to_timestamp($2::float8) RETURNING token
