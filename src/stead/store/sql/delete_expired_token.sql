-- A name whose token is expired is free again.
DELETE FROM tokens WHERE name = $1 AND expires_at <= now()
