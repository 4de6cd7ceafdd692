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
