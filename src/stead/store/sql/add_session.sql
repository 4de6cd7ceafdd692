-- Somebody has logged in with a browser; sessions that are over go.
WITH over AS (DELETE FROM sessions WHERE expires_at < now() - interval '1 day')
INSERT INTO sessions (hash, principal, groups, token, expires_at) VALUES ($1, $2, $3, $4, $5)
