-- The server that the cell was last met on; another one is another incarnation.
ALTER TABLE cell ADD COLUMN server text NOT NULL DEFAULT '';
