-- How many resources of a kind are in which state below some paths.
SELECT c.path, c.state, sum(c.members)::bigint AS members
  FROM (SELECT n.path, n.state, n.members FROM counts n WHERE n.path = ANY ($1::text[]) AND n.kind = $2
        UNION ALL
        SELECT u.path, u.state, u.members
          FROM (SELECT min(p COLLATE "C") AS first, max((p || '0') COLLATE "C") AS last FROM unnest($1::text[]) p) around,
               count_unnumbered(around.first, around.last) u
         WHERE u.path = ANY ($1::text[]) AND u.kind = $2) c
 GROUP BY c.path, c.state HAVING sum(c.members) > 0 ORDER BY c.path, c.state
