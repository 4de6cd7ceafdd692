-- Somebody has logged in with a browser; sessions that are over go.
WITH over AS (DELETE FROM sessions WHERE expires_at < now() - interval '1 day'),
     begun AS (
        INSERT INTO sessions (hash, principal, groups, token, expires_at) VALUES ($1, $2, $3, $4, $5) RETURNING principal)
INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target)
SELECT '/', 'session', principal, 'user', 'access', 'login', '', '' FROM begun
