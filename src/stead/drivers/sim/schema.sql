-- What the simulated cloud knows. Times are seconds since 1970; nothing is ever deleted.

-- Every instance there ever was.
CREATE TABLE IF NOT EXISTS instance (
    seq         INTEGER PRIMARY KEY,
    id          TEXT NOT NULL UNIQUE,
    provider    TEXT NOT NULL,
    region      TEXT NOT NULL,
    kind        TEXT NOT NULL DEFAULT 'vm',
    token       TEXT NOT NULL,
    spec        TEXT NOT NULL,   -- with sorted keys, so that equal requests are equal texts
    first       TEXT,            -- the spec that it was made with, where that has changed since
    tags        TEXT NOT NULL,
    state       TEXT NOT NULL,
    next_state  TEXT,            -- in a moving state: where it leads
    due_at      REAL,            -- and when
    visible_at  REAL NOT NULL,   -- looks do not find it before
    shown_state TEXT,            -- what looks still show
    shown_until REAL NOT NULL DEFAULT 0,
    made_at     REAL NOT NULL,
    revision    INTEGER NOT NULL DEFAULT 0,  -- of the spec, as the caller counts
    asked       INTEGER NOT NULL DEFAULT 1,  -- how many creations have named its token
    UNIQUE (provider, region, token)
);
CREATE INDEX IF NOT EXISTS instance_by_token ON instance (token);
CREATE INDEX IF NOT EXISTS instance_live ON instance (provider, region, seq) WHERE state <> 'terminated';
CREATE INDEX IF NOT EXISTS instance_moving ON instance (due_at) WHERE next_state IS NOT NULL;

-- Every call, whatever became of it.
CREATE TABLE IF NOT EXISTS call (
    seq      INTEGER PRIMARY KEY,
    at       REAL NOT NULL,
    provider TEXT NOT NULL,
    region   TEXT NOT NULL,
    verb     TEXT NOT NULL,
    order_token TEXT NOT NULL,
    outcome  TEXT NOT NULL,      -- done, throttled, failed, refused, dropped, hung
    reply    TEXT NOT NULL,      -- sent, late, lost
    size     INTEGER NOT NULL,   -- instances it was about
    members  TEXT NOT NULL       -- for each instance: token, id, what was done, error code
);

-- Every change of an instance: by a call, by drift, or by time.
CREATE TABLE IF NOT EXISTS deed (
    seq         INTEGER PRIMARY KEY,
    instance    INTEGER NOT NULL REFERENCES instance (seq),
    at          REAL NOT NULL,
    verb        TEXT NOT NULL,
    before      TEXT NOT NULL,
    after       TEXT NOT NULL,
    call        INTEGER,
    order_token TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS deed_by_instance ON deed (instance, verb, order_token);
