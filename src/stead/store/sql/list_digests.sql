-- The digests of all secrets that let somebody in now.
SELECT hash FROM tokens WHERE expires_at > now()
UNION ALL SELECT hash FROM sessions WHERE expires_at > now()
