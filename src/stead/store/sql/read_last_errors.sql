-- The last error told of each of some paths; those of which none was told are left out.
SELECT p.path, j.error
  FROM unnest($1::text[]) AS p (path)
 CROSS JOIN LATERAL (
       SELECT l.change ->> 'error' AS error FROM journal l
        WHERE l.path = p.path AND l.change ? 'error' ORDER BY l.at DESC LIMIT 1) j
