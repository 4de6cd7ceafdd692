-- A page of the resources below a path that have nothing below them: those in the states of the least rank first, then by
-- name, numbers as numbers.
SELECT path, kind, state, rank, key
  FROM (SELECT path, kind, state, coalesce(($2::jsonb ->> (kind || ' ' || state))::int, 0) AS rank,
               CASE WHEN path ~ '/[0-9]{1,15}$' THEN lpad(substring(path FROM '[0-9]+$'), 15, '0')
                    ELSE substr(path, length($1::text) + 2) END COLLATE "C" AS key
          FROM resources WHERE path > $1 || '/' AND path < $1 || '0') ranked
 WHERE (rank, key) > ($3::int, $4::text) ORDER BY rank, key LIMIT $5
