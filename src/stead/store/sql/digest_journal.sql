-- How many lines there are from $1 to $2, and their digest: each hashed after the one before, as hashes of lines are, from $3 on.
-- What stands in the column of hashes does not count, but for the last.
SELECT count(*) AS lines, journal_chain($3, text ORDER BY position) AS digest, (array_agg(hash ORDER BY position DESC))[1] AS hash
  FROM (SELECT position, hash, journal_text(position, at, path, kind, operation, principal, actor, trigger, detail, source, target,
                                            change, rejections, origin, request) AS text
          FROM journal WHERE position BETWEEN $1 AND $2) lines
