-- What was found on a lane and nobody owns. A lane has room for so many; whoever makes them up fills no table.
INSERT INTO orphans (lane, token, path, state, facts)
SELECT $1, f ->> 'token', f ->> 'path', f ->> 'state', f -> 'facts' FROM jsonb_array_elements($2::jsonb) f
 WHERE (SELECT count(*) FROM orphans o WHERE o.lane = $1) < 20000
    OR EXISTS (SELECT FROM orphans o WHERE o.lane = $1 AND o.token = f ->> 'token')
ON CONFLICT (lane, token) DO UPDATE SET state = excluded.state, facts = excluded.facts, last_seen = now()
