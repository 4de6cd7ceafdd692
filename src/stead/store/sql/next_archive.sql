-- What could be archived next: all lines of the first day that there are lines of, if that is over by $1 and by now. `missing`
-- says that some have no position yet.
SELECT d.until, a.last + 1 AS first, (SELECT max(position) FROM journal WHERE at < d.until) AS last,
       EXISTS (SELECT FROM journal WHERE at < d.until AND position IS NULL) AS missing
  FROM (SELECT coalesce(max(last), 0) AS last FROM journal_archives) a,
       LATERAL (SELECT ((at AT TIME ZONE 'UTC')::date + 1)::timestamp AT TIME ZONE 'UTC' AS until FROM journal
                 WHERE position IS NULL OR position > a.last ORDER BY at LIMIT 1) d
 WHERE d.until <= least($1, date_trunc('day', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC')
