-- The last position of lines from before a time, as the first line from then on has it.
SELECT coalesce(
    (SELECT position - 1 FROM (SELECT position FROM journal WHERE at >= $1 AND position IS NOT NULL ORDER BY at, id LIMIT 1) l),
    (SELECT last_position FROM cell)) AS position
