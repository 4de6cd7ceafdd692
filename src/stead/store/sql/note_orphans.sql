-- What was found on a lane and nobody owns.
INSERT INTO orphans (lane, token, path, state, facts)
SELECT $1, f ->> 'token', f ->> 'path', f ->> 'state', f -> 'facts' FROM jsonb_array_elements($2::jsonb) f
ON CONFLICT (lane, token) DO UPDATE SET state = excluded.state, facts = excluded.facts, last_seen = now()
