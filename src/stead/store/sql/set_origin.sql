-- Where whatever is written in this transaction was asked for.
SELECT set_config('stead.origin', $1, true), set_config('stead.request', $2, true)
