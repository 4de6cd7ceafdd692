-- Where operations began or were queued in the journal: lines from a position on that say so, of so many lines.
SELECT position, operation, trigger, detail
  FROM (SELECT position, operation, trigger, detail FROM journal
         WHERE position > $1
           AND ($2::text IS NULL OR path = $2 OR (path > rtrim($2, '/') || '/' AND path < rtrim($2, '/') || '0'))
         ORDER BY position LIMIT $3) l
 WHERE operation IS NOT NULL AND trigger = ANY ($4::text[]) ORDER BY position
