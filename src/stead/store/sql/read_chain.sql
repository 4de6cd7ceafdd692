-- Lines of the journal from after the position $1 on as they are hashed, each with its hash; up to the position $3. Two at one
-- position come together, so that nobody who reads page by page passes one of them by.
SELECT position, at, rejections, hash, journal_text(position, at, path, kind, operation, principal, actor, trigger, detail, source,
                                                 target, change, rejections, origin, request) AS text
  FROM journal WHERE position > $1 AND position <= $3
 ORDER BY position FETCH FIRST $2 ROWS WITH TIES
