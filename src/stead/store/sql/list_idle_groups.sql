-- Groups of some kinds that nothing is done to, each with how many members are in which state.
WITH resting AS MATERIALIZED (
    SELECT r.path, r.kind, r.state, k.member
      FROM resources r JOIN unnest($2::text[], $3::text[]) AS k (kind, member) ON k.kind = r.kind
     WHERE r.path = ANY ($1::text[]) AND r.operation IS NULL
), fresh AS MATERIALIZED (
    SELECT u.path, u.kind, u.state, u.members
      FROM (SELECT min(path) AS first, max(path || '0') AS last FROM resting) around, count_unnumbered(around.first, around.last) u
)
SELECT r.path, r.kind, r.state,
       (SELECT coalesce(jsonb_object_agg(s.state, s.members), '{}')
          FROM (SELECT c.state, sum(c.members) AS members
                  FROM (SELECT n.state, n.members FROM counts n WHERE n.path = r.path AND n.kind = r.member
                        UNION ALL
                        SELECT f.state, f.members FROM fresh f WHERE f.path = r.path AND f.kind = r.member) c
                 GROUP BY c.state HAVING sum(c.members) > 0) s) AS counts
  FROM resting r
