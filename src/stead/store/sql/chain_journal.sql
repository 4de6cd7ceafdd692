-- Gives hashes to lines that have positions and none: an older controller has numbered them. The cell's row is locked before.
WITH fresh AS (
        SELECT at, id, position,
               journal_chain(hash, journal_text(
                   position, at, path, kind, operation, principal, actor, trigger, detail, source, target, change, rejections,
                   origin, request)) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) AS hash
          FROM (SELECT j.at, j.id, j.position, j.path, j.kind, j.operation, j.principal, j.actor, j.trigger, j.detail,
                       j.source, j.target, j.change, j.rejections, j.origin, j.request, h.hash
                  FROM journal_head h, cell c, journal j
                 WHERE j.position > h.position AND j.position <= c.last_position ORDER BY j.position LIMIT $1) missing
     ),
     linked AS (
        UPDATE journal SET hash = fresh.hash FROM fresh WHERE journal.at = fresh.at AND journal.id = fresh.id
     )
UPDATE journal_head h
   SET position = coalesce(f.position, c.last_position), hash = coalesce(f.hash, h.hash)  -- lines may have been taken away
  FROM cell c LEFT JOIN (SELECT position, hash FROM fresh ORDER BY position DESC LIMIT 1) f ON true
