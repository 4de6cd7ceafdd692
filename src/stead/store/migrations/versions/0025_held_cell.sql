-- A restored cell is held: no order that changes anything leaves it until an operator releases it, in whole or by path.
ALTER TABLE cell ADD COLUMN held_since timestamptz;  -- NULL: it is not held
ALTER TABLE orders ADD COLUMN held boolean NOT NULL DEFAULT false;  -- waits until its members are released

CREATE TABLE released_paths (
    path        text COLLATE "C" PRIMARY KEY,
    released_by text NOT NULL,
    released_at timestamptz NOT NULL DEFAULT now()
);
