-- Somebody has logged out.
DELETE FROM sessions WHERE hash = $1
