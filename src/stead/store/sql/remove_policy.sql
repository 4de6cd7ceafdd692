-- Take a policy away.
DELETE FROM policies WHERE name = $1 RETURNING name
