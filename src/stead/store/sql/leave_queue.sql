-- One that waits ends before it has begun; the journal is told where that was asked for.
SELECT leave_queue($1, $2, $3, $4, $5) FROM set_config('stead.origin', $6, true) a, set_config('stead.request', $7, true) b
