-- One that waits is the next from now on.
WITH first AS (
    UPDATE queued q SET turn = (SELECT min(w.turn) FROM queued w WHERE w.queue = q.queue) - 1
     WHERE q.operation = $1 RETURNING q
)
SELECT record_queued(q, $2, $3, 'promote', '{}')
  FROM first, set_config('stead.origin', $4, true) a, set_config('stead.request', $5, true) b
