-- Gives the next positions to rows that have committed and have none, each with its hash, and adds them to the counts. The
-- cell's row is locked before, in a statement of its own, so that two numberers cannot both be at it and the second sees
-- what the first has done; a row that commits late gets a late position, and no follower has passed it.
WITH last AS (SELECT c.last_position, h.hash FROM cell c, journal_head h),
     fresh AS (
        SELECT at, id, last_position + n AS position,
               journal_chain(hash, journal_text(
                   last_position + n, at, path, kind, operation, principal, actor, trigger, detail, source, target, change,
                   rejections, origin, request)) OVER (ORDER BY id ROWS UNBOUNDED PRECEDING) AS hash
          FROM (SELECT unnumbered.*, row_number() OVER (ORDER BY id) AS n
                  FROM (SELECT at, id, path, kind, operation, principal, actor, trigger, detail, source, target, change, rejections,
                               origin, request
                          FROM journal WHERE position IS NULL ORDER BY id LIMIT $1) unnumbered) counted, last
     ),
     numbered AS (
        UPDATE journal SET position = fresh.position, hash = fresh.hash
          FROM fresh WHERE journal.at = fresh.at AND journal.id = fresh.id
        RETURNING path, kind, source, target, rejections
     ),
     head AS (
        UPDATE journal_head h SET position = f.position, hash = f.hash
          FROM (SELECT position, hash FROM fresh ORDER BY position DESC LIMIT 1) f
     ),
     alike AS (
        SELECT regexp_replace(path, '/[^/]+$', '') AS parent, kind, source, target, count(*) AS moves
          FROM numbered WHERE source <> target AND rejections = 0 GROUP BY 1, 2, 3, 4
     ),
     changed AS (
        SELECT above, kind, state, sum(delta) AS delta
          FROM alike, unnest(ancestors_of(parent) || parent) above,
               unnest(ARRAY[source, target], ARRAY[-moves, moves]) AS d (state, delta)
         WHERE parent <> '' AND above <> '/' AND state <> '' GROUP BY above, kind, state HAVING sum(delta) <> 0
     ),
     counted AS (
        INSERT INTO counts (path, kind, state, members) SELECT above, kind, state, delta FROM changed
        ON CONFLICT (path, kind, state) DO UPDATE SET members = counts.members + EXCLUDED.members
        RETURNING path, kind, state, members
     ),
     gone AS (  -- only what counts as not being there rises to nothing: as many are gone as ever came
        SELECT DISTINCT c.path, c.kind FROM counted c JOIN changed d ON (d.above, d.kind, d.state) = (c.path, c.kind, c.state)
         WHERE c.members = 0 AND d.delta > 0 AND c.path ~ '^/[^/]+/'
     )
UPDATE cell SET last_position = last_position + (SELECT count(*) FROM numbered)
RETURNING last_position, (SELECT count(*) FROM numbered) AS numbered,
          ARRAY(SELECT DISTINCT parent FROM alike WHERE parent <> '') AS parents,
          ARRAY(SELECT path FROM gone ORDER BY path, kind) AS gone, ARRAY(SELECT kind FROM gone ORDER BY path, kind) AS kinds
