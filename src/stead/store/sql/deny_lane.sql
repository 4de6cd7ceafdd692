-- Take a lane away from a namespace.
SELECT deny_lane($1, $2, $3, $4) AS answer
