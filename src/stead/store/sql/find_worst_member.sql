-- A member below a path that is in one of some bad states, the first of them first, with the last error told of it.
SELECT r.path, r.state, r.changed_at AS since, coalesce(j.error, '') AS says
  FROM (SELECT b.path, b.state, b.changed_at FROM resources b
         WHERE b.kind = $1 AND b.path > $2::text || '/' AND b.path < $2 || '0' AND b.state IN ('Failed', 'Undefined')
         ORDER BY b.state <> $3, b.path LIMIT 1) r
  LEFT JOIN LATERAL (
       SELECT l.change ->> 'error' AS error FROM journal l
        WHERE l.path = r.path AND l.change ? 'error' ORDER BY l.at DESC LIMIT 1) j ON true
