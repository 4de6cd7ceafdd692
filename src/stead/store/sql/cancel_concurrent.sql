-- Give an operation up that runs beside others; the journal is told where that was asked for.
SELECT cancel_concurrent($1, $2, $3) FROM set_config('stead.origin', $4, true) a, set_config('stead.request', $5, true) b
