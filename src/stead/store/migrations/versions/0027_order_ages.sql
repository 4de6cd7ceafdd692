-- When a held cell was released: orders that were given at that moment are looked for a while longer.
ALTER TABLE cell ADD COLUMN released_at timestamptz;
