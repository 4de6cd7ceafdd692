-- Somebody owns it now.
DELETE FROM orphans WHERE lane = $1 AND token = $2 RETURNING token
