-- An agent and the lanes it serves. A word of an earlier run, which came late, changes nothing.
WITH met AS (
    INSERT INTO agents (name, epoch, lanes, version) VALUES ($1, $2, $3, $4)
    ON CONFLICT (name) DO UPDATE SET epoch = $2, lanes = $3, version = $4, last_seen = now() WHERE agents.epoch <= $2
    RETURNING name
), served AS (
    INSERT INTO lanes (name) SELECT unnest($3::text[]) FROM met ON CONFLICT DO NOTHING
)
SELECT name FROM met
