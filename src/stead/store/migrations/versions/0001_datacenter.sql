-- Machines that were deleted, restored or destroyed, whose disks have not all followed them yet.
CREATE TABLE attachments (
    machine text COLLATE "C" PRIMARY KEY,
    turn    bigint NOT NULL DEFAULT 0,            -- rises when the machine has moved again
    due_at timestamptz NOT NULL DEFAULT 'epoch'
);
CREATE INDEX attachments_due ON attachments (due_at);

-- How far the journal was read for such moves.
CREATE TABLE attachments_follower (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    position bigint NOT NULL
);
INSERT INTO attachments_follower (position) SELECT last_position FROM cell;

-- How much accounts and cloudspaces have, and the most that they may have. Memory and storage are MiB.
CREATE TABLE quotas (
    path text COLLATE "C" NOT NULL,
    what text NOT NULL CHECK (what IN ('machines', 'cpus', 'memory', 'disks', 'storage', 'hosts', 'lease_seconds')),
    used bigint NOT NULL DEFAULT 0,
    most bigint CHECK (most >= 0),                -- none: as much as there is
    PRIMARY KEY (path, what)
);
