-- Every move and every refusal. Rows commit in any order; positions are given afterwards, dense, by one numberer.
CREATE TABLE journal (
    id        bigint GENERATED ALWAYS AS IDENTITY,
    at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    position  bigint,
    path      text COLLATE "C" NOT NULL,
    kind      text NOT NULL,
    operation uuid,
    principal text NOT NULL DEFAULT '',
    actor     text NOT NULL,
    trigger   text NOT NULL,
    detail      text NOT NULL,                      -- the action, or what was seen
    source    text NOT NULL,
    target    text NOT NULL,
    change    jsonb NOT NULL DEFAULT '{}',        -- of spec and facts; for a refusal its reasons
    rejections   integer NOT NULL DEFAULT 0,         -- how often, where it is a refusal
    origin    text DEFAULT nullif(current_setting('stead.origin', true), ''),    -- the address that a request came from
    request   text DEFAULT nullif(current_setting('stead.request', true), ''),   -- the request's id
    hash      bytea,                              -- of the line before and of this one: see journal_text
    PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX journal_unnumbered ON journal (id) WHERE position IS NULL;
CREATE INDEX journal_position ON journal (position);
CREATE INDEX journal_path ON journal (path, at);
-- What was settled without a report: by a probe, or because its outcome stayed unknown.
CREATE INDEX journal_recovered ON journal (at, id) WHERE trigger IN ('observed', 'timed_out') AND operation IS NOT NULL;
CREATE TABLE journal_default PARTITION OF journal DEFAULT;

-- How far the chain has come: one row. It is written with the hashes, so a journal whose end was cut off does not fit it.
CREATE TABLE journal_head (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    after    bigint NOT NULL,                     -- the last position before the first that has a hash
    began_at timestamptz NOT NULL DEFAULT now(),
    position bigint NOT NULL,
    hash     bytea NOT NULL
);

-- What was taken out of the journal, each record with where it went on from. All lines up to `last` are in files.
CREATE TABLE journal_archives (
    first    bigint PRIMARY KEY,
    last     bigint NOT NULL UNIQUE CHECK (last >= first),
    previous bytea,                               -- the hash before the first; null where that had none
    hash     bytea,                               -- of the last; null likewise
    until    timestamptz NOT NULL,                -- lines from before that are gone from the database
    file     text NOT NULL,                       -- its name
    sha256   bytea NOT NULL,                      -- of the file
    by       text NOT NULL,
    at       timestamptz NOT NULL DEFAULT now()
);

-- How long moves took that went well: by kind, action and moving state, on each lane and, under no lane, on all of them.
-- It grows with the kinds and the lanes there are, and neither with resources nor with the journal.
CREATE TABLE durations (
    kind       text NOT NULL,
    action     text NOT NULL,
    state      text NOT NULL,                     -- empty where the visible state stays while it is done
    lane       text COLLATE "C" NOT NULL,
    counts     jsonb NOT NULL,                    -- the number of a span of time, to how many took so long
    samples    double precision NOT NULL,         -- how many these are; old ones count less with each new one
    typical    double precision NOT NULL,         -- seconds within which half of them were over
    p99        double precision NOT NULL,         -- seconds within which 99 of 100 were
    learned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, action, state, lane)
);

-- How far the journal was read for them.
CREATE TABLE durations_follower (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    position bigint NOT NULL DEFAULT 0
);
INSERT INTO durations_follower DEFAULT VALUES;
