-- Nobody is let in with it any more; what was opened with it goes, too.
DELETE FROM tokens WHERE name = $1 RETURNING id, name, roles
