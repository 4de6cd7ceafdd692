-- Whether another object of a queue keeps a path from leaving it.
SELECT is_queue_busy($1, $2)
