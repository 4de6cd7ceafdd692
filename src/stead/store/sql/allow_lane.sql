-- Let a namespace use a lane.
SELECT allow_lane($1, $2, $3, $4) AS answer
