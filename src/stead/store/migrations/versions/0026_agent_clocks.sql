-- By how many seconds the clock of an agent was ahead of the database's when it was last heard of.
ALTER TABLE agents ADD COLUMN clock_offset float8 NOT NULL DEFAULT 0;
