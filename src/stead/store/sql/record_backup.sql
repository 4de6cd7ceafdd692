-- The cell was backed up: as of $1, into a dump of $2 bytes with the digest $3.
INSERT INTO backups VALUES ($1, $2, $3) ON CONFLICT DO NOTHING
