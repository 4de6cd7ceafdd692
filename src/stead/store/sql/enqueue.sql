-- Put a request into a queue, of which the journal is told where it came from.
SELECT enqueue($1) FROM set_config('stead.origin', $2, true) a, set_config('stead.request', $3, true) b
