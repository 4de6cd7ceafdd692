-- What may be on a site that is forgotten, as far as there are records, becomes orphans; how many of each kind its lane has
-- now. They are listed at once, without being found twice: no agent is there to find them.
WITH left_behind AS (
    INSERT INTO orphans (lane, token, path, state, facts, first_seen)
    SELECT r.lane, r.token::text, r.path, r.state, jsonb_build_object('kind', r.kind, 'forgotten', true), now() - interval '1 s'
      FROM resources r WHERE r.path > $1 || '/' AND r.path < $1 || '0' AND r.state <> ALL ($2::text[])
    ON CONFLICT (lane, token) DO UPDATE SET state = excluded.state, facts = excluded.facts, last_seen = now()
    RETURNING lane, token, facts
), found AS (
    SELECT lane, token, facts FROM left_behind
    UNION
    SELECT o.lane, o.token, o.facts FROM orphans o JOIN resources s ON s.lane = o.lane
     WHERE s.path = $1 AND NOT EXISTS (SELECT FROM left_behind l WHERE (l.lane, l.token) = (o.lane, o.token))
)
SELECT coalesce(facts ->> 'kind', 'other') AS kind, count(*) AS count FROM found GROUP BY 1 ORDER BY 1
