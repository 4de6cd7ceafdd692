-- Take a role from somebody.
DELETE FROM grants WHERE subject = $1 AND role = $2 AND namespace = $3 RETURNING subject
