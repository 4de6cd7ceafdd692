-- A queue, or all of them, take nothing more.
WITH locked AS (
    SELECT path FROM queues WHERE $1::text IS NULL OR path = $1 ORDER BY path FOR UPDATE
)
UPDATE queues q SET stopping = true FROM locked WHERE q.path = locked.path
RETURNING q.path, q.stopping, q.created_at, (SELECT o.id FROM operations o WHERE o.id = q.running) AS running,
          (SELECT count(*) FROM queued w WHERE w.queue = q.path) AS waiting
