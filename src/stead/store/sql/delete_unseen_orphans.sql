-- What was not found again on some lanes, since a time for each.
DELETE FROM orphans o USING unnest($1::text[], $2::float8[]) AS told (lane, began)
 WHERE o.lane = told.lane AND o.last_seen < to_timestamp(told.began) RETURNING o.token
