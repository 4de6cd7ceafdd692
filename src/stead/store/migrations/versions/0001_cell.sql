-- The cell itself: one row.
CREATE TABLE cell (
    only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    incarnation   integer NOT NULL DEFAULT 1,     -- rises when the database went back in time: part of every fence
    bus_epoch     bigint  NOT NULL DEFAULT 0,     -- rises when the bus forgot
    bus_identity  text    NOT NULL DEFAULT '',    -- of the streams that epoch belongs to
    last_position bigint  NOT NULL DEFAULT 0,     -- of the journal
    server        text NOT NULL DEFAULT '',       -- the server it was last met on; another one is another incarnation
    held_since    timestamptz,                    -- NULL: it is not held after a restore
    released_at   timestamptz                     -- when it was released: orders of that moment are looked for a while longer
);
INSERT INTO cell DEFAULT VALUES;

-- Paths at which, and below which, a held cell acts all the same.
CREATE TABLE released_paths (
    path        text COLLATE "C" PRIMARY KEY,
    released_by text NOT NULL,
    released_at timestamptz NOT NULL DEFAULT now()
);

-- When the cell was backed up by `stead backup create`.
CREATE TABLE backups (
    at     timestamptz PRIMARY KEY,  -- the moment that it shows
    size   bigint NOT NULL,          -- of the dump, in bytes
    sha256 text   NOT NULL           -- of the dump
);

-- Lifecycles that somebody registered, beside those that are built in. A row stays when its kind is unregistered: the past
-- is read by it, and versions only rise, so that whoever sees their sum rise reads all of it anew.
CREATE TABLE lifecycles (
    kind          text COLLATE "C" PRIMARY KEY,
    version       bigint NOT NULL DEFAULT 1,
    document      text NOT NULL,
    in_force      boolean NOT NULL DEFAULT true,  -- otherwise it was unregistered
    states        text[] NOT NULL,                -- that something may come into: none where it is not in force
    actions       text[] NOT NULL,
    explored      jsonb NOT NULL DEFAULT '{}',    -- within which bounds, and how much there was to see
    registered_by text NOT NULL,
    registered_at timestamptz NOT NULL DEFAULT now()
);
