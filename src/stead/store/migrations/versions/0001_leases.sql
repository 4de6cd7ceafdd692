-- Equality beside overlap in one index; it comes with PostgreSQL.
CREATE EXTENSION IF NOT EXISTS btree_gist;

-- What can be booked.
CREATE TABLE hosts (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text COLLATE "C" NOT NULL UNIQUE,
    lane       text COLLATE "C" NOT NULL,         -- whose agent hands it over; a reservation's hosts are all of one lane
    properties jsonb NOT NULL DEFAULT '{}',
    node       text COLLATE "C" UNIQUE,           -- of the private cloud, where it is one: then it works while that does
    works      boolean NOT NULL DEFAULT true,
    why        text NOT NULL DEFAULT '',          -- it does not
    added_at   timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX hosts_lane ON hosts (lane, id);

-- Which reservation has a host, and when. No host has two at a time, whatever anybody does.
CREATE TABLE allocations (
    host        bigint NOT NULL REFERENCES hosts,
    reservation text COLLATE "C" NOT NULL,
    during      tstzrange NOT NULL CHECK (NOT isempty(during)),
    leaving     boolean NOT NULL DEFAULT false,   -- it is to be taken back, and nobody has said yet that it was
    over        boolean NOT NULL DEFAULT false,   -- it was taken back
    EXCLUDE USING gist (host WITH =, during WITH &&)
);
CREATE INDEX allocations_open ON allocations (host, lower(during)) WHERE NOT over;
CREATE INDEX allocations_host ON allocations (host, lower(during));  -- not that of the constraint: see docs/adr/0032
CREATE INDEX allocations_reservation ON allocations (reservation);

-- When what happens to a lease.
CREATE TABLE lease_events (
    id       uuid NOT NULL DEFAULT gen_random_uuid(),
    lease    text COLLATE "C" NOT NULL,
    kind     text NOT NULL CHECK (kind IN ('start_lease', 'before_end_lease', 'end_lease')),
    at       timestamptz NOT NULL,
    status   text NOT NULL DEFAULT 'UNDONE' CHECK (status IN ('UNDONE', 'IN_PROGRESS', 'DONE', 'ERROR')),
    fired    integer NOT NULL DEFAULT 0,          -- how often since its time was set
    fired_at timestamptz,
    due_at   timestamptz NOT NULL DEFAULT '-infinity',  -- somebody is at it until then
    PRIMARY KEY (lease, kind)
);
CREATE INDEX lease_events_due ON lease_events (at) WHERE status = 'UNDONE';
CREATE INDEX lease_events_fired ON lease_events (fired_at) WHERE fired_at IS NOT NULL;

-- What is told of a lease before its end, until it has arrived where it is to go.
CREATE TABLE lease_notices (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    lease        text COLLATE "C" NOT NULL,
    event        text NOT NULL,
    says         jsonb NOT NULL,
    url          text NOT NULL DEFAULT '',
    made_at      timestamptz NOT NULL,
    next_at      timestamptz,                     -- none: it has arrived, is to go nowhere, or was given up
    tries        integer NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    error        text NOT NULL DEFAULT ''
);
CREATE INDEX lease_notices_lease ON lease_notices (lease);
CREATE INDEX lease_notices_next ON lease_notices (next_at) WHERE next_at IS NOT NULL;

-- What is not as it was booked.
CREATE TABLE reservation_flags (
    reservation       text COLLATE "C" PRIMARY KEY,
    missing_resources boolean NOT NULL DEFAULT false,
    resources_changed boolean NOT NULL DEFAULT false,
    lost              boolean NOT NULL DEFAULT false,  -- seen gone or broken where it was handed over
    due_at            timestamptz NOT NULL DEFAULT '-infinity',
    CHECK (missing_resources OR resources_changed OR lost)
);
CREATE INDEX reservation_flags_due ON reservation_flags (due_at) WHERE missing_resources OR lost;

-- What goes together at every commit.
CREATE TABLE lease_combinations (
    lease        text PRIMARY KEY,
    reservations text[] NOT NULL,
    starts       text[] NOT NULL,
    ends         text[] NOT NULL,
    events       text[] NOT NULL,                 -- holds for every event
    one_in       text NOT NULL DEFAULT '',        -- at least one reservation is, unless there is none
    may_lack_parts boolean NOT NULL DEFAULT false -- before its booking, and after one that failed
);
INSERT INTO lease_combinations
SELECT c.lease, string_to_array(c.reservations, ' '), string_to_array(c.starts, ' '), string_to_array(c.ends, ' '),
       string_to_array(c.events, ' '), c.one_in, c.lease IN ('CREATING', 'UPDATING', 'ERROR', 'DELETING')
  FROM (VALUES
    ('CREATING', 'pending', 'UNDONE', 'UNDONE', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('PENDING', 'pending', 'UNDONE', 'UNDONE', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('STARTING', 'pending active error', 'IN_PROGRESS', 'UNDONE', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('ACTIVE', 'active', 'DONE', 'UNDONE', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('TERMINATING', 'active deleted error', 'DONE', 'IN_PROGRESS', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('TERMINATED', 'deleted', 'DONE', 'DONE', 'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('DELETING', 'pending active deleted error', 'UNDONE IN_PROGRESS DONE ERROR', 'UNDONE IN_PROGRESS DONE ERROR',
     'UNDONE IN_PROGRESS DONE ERROR', ''),
    ('UPDATING', 'pending active deleted error', 'UNDONE DONE ERROR', 'UNDONE DONE ERROR', 'UNDONE DONE ERROR', ''),
    ('ERROR', 'pending active deleted error', 'UNDONE DONE ERROR', 'UNDONE DONE ERROR', 'UNDONE DONE ERROR', 'error')
  ) c (lease, reservations, starts, ends, events, one_in);
