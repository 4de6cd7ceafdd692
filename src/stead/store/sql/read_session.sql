-- A session that is not over, and what the token may that it was opened with.
SELECT s.principal, s.groups, extract(epoch FROM s.expires_at)::float8 AS until, t.roles
  FROM sessions s LEFT JOIN tokens t ON t.id = s.token
 WHERE s.hash = $1 AND s.expires_at > now() AND (t.id IS NULL OR t.expires_at > now())
