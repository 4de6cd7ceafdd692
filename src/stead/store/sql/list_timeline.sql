-- A page of what an operation did to each of its members, from the journal: the group itself first, then those that did
-- not do what was asked, those that still work, and the others, the slowest first.
SELECT lines.path, lines.kind, lines.begun, lines.last, lines.origin, lines.phases, m.outcome, coalesce(m.says, '') AS says,
       r.operation IS NOT DISTINCT FROM $1 AS working, count(*) OVER () AS total
  FROM (SELECT path, min(kind) AS kind, min(at) AS begun, max(at) AS last, (array_agg(source ORDER BY id))[1] AS origin,
               jsonb_agg(jsonb_build_array(target, at) ORDER BY id) FILTER (WHERE source <> target) AS phases
          FROM journal
         WHERE operation = $1 AND at >= $2 AND at <= $3 AND rejections = 0
           AND (path = $4::text OR (path > $4 || '/' AND path < $4 || '0'))
         GROUP BY path) lines
  LEFT JOIN operation_members m ON m.operation = $1 AND m.path = lines.path
  LEFT JOIN resources r ON r.path = lines.path
 ORDER BY lines.path <> $4, m.outcome IS NULL, r.operation IS DISTINCT FROM $1, lines.last - lines.begun DESC, lines.path
 LIMIT $5 OFFSET $6
