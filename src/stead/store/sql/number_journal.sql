-- Gives the next positions to rows that have committed and have none, and adds them to the counts. The cell's row is
-- locked before, in a statement of its own, so that two numberers cannot both be at it and the second sees what the first
-- has done; a row that commits late gets a late position, and no follower has passed it.
WITH last AS (SELECT last_position FROM cell),
     fresh AS (
        SELECT at, id, row_number() OVER (ORDER BY id) AS n
          FROM (SELECT at, id FROM journal WHERE position IS NULL ORDER BY id LIMIT $1) unnumbered
     ),
     numbered AS (
        UPDATE journal SET position = last.last_position + fresh.n
          FROM fresh, last WHERE journal.at = fresh.at AND journal.id = fresh.id
        RETURNING path, kind, source, target, refused
     ),
     alike AS (
        SELECT regexp_replace(path, '/[^/]+$', '') AS parent, kind, source, target, count(*) AS moves
          FROM numbered WHERE source <> target AND refused = 0 GROUP BY 1, 2, 3, 4
     ),
     counted AS (
        INSERT INTO counts (path, kind, state, members)
        SELECT above, kind, state, sum(delta)
          FROM alike, unnest(ancestors_of(parent) || parent) above,
               unnest(ARRAY[source, target], ARRAY[-moves, moves]) AS d (state, delta)
         WHERE parent <> '' AND above <> '/' AND state <> '' GROUP BY above, kind, state HAVING sum(delta) <> 0
        ON CONFLICT (path, kind, state) DO UPDATE SET members = counts.members + EXCLUDED.members
     )
UPDATE cell SET last_position = last_position + (SELECT count(*) FROM numbered)
RETURNING last_position, (SELECT count(*) FROM numbered) AS numbered,
          ARRAY(SELECT DISTINCT parent FROM alike WHERE parent <> '') AS parents
