-- Take a policy away; its instances stay.
DELETE FROM scaling WHERE namespace = $1 AND name = $2 RETURNING name
