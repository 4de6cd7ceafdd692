-- Gives the next positions to rows that have committed and have none. The cell's row is locked before, in a statement of
-- its own, so that two numberers cannot both be at it and the second sees what the first has done; a row that commits
-- late gets a late position, and no follower has passed it.
WITH last AS (SELECT last_position FROM cell),
     fresh AS (
        SELECT at, id, row_number() OVER (ORDER BY id) AS n
          FROM (SELECT at, id FROM journal WHERE position IS NULL ORDER BY id LIMIT $1) unnumbered
     ),
     numbered AS (
        UPDATE journal SET position = last.last_position + fresh.n
          FROM fresh, last WHERE journal.at = fresh.at AND journal.id = fresh.id
        RETURNING 1
     )
UPDATE cell SET last_position = last_position + (SELECT count(*) FROM numbered)
RETURNING last_position, (SELECT count(*) FROM numbered) AS numbered
