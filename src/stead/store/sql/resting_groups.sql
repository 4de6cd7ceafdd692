-- Groups of some kinds that nothing is done to, each with how many members are in which state, as the numbered journal has
-- it.
SELECT r.path, r.kind, r.state,
       (SELECT coalesce(jsonb_object_agg(c.state, c.members), '{}') FROM counts c
         WHERE c.path = r.path AND c.kind = k.member AND c.members > 0) AS counts
  FROM resources r JOIN unnest($2::text[], $3::text[]) AS k (kind, member) ON k.kind = r.kind
 WHERE r.path = ANY ($1::text[]) AND r.operation IS NULL
