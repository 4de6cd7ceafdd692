-- The first position that an operation has in the journal, and whether some of its lines have none yet.
SELECT (SELECT min(position) FROM journal
         WHERE path = $2 AND at >= $3::timestamptz - interval '1 minute' AND operation = $1) AS first,
       EXISTS (SELECT FROM journal WHERE position IS NULL AND operation = $1) AS unnumbered
