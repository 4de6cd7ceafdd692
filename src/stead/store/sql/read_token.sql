-- A token that is not expired. That it was used is noted once an hour, which changes nothing for whoever remembers it.
WITH used AS (UPDATE tokens SET used_at = now()
               WHERE id = $1 AND (used_at IS NULL OR used_at < now() - interval '1 hour'))
SELECT id, name, hash, roles, extract(epoch FROM expires_at)::float8 AS until
  FROM tokens WHERE id = $1 AND expires_at > now()
