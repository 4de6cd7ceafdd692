-- Everything the engine stands on. One row per resource says what is believed of it; whatever goes on about it is a
-- row beside it; whatever has ended goes to tables that are partitioned by time.

-- The cell itself: one row.
CREATE TABLE cell (
    only_one      boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    incarnation   integer NOT NULL DEFAULT 1,     -- rises when the database went back in time: part of every fence
    bus_epoch     bigint  NOT NULL DEFAULT 0,     -- rises when the bus forgot
    bus_identity  text    NOT NULL DEFAULT '',    -- of the streams that epoch belongs to
    last_position bigint  NOT NULL DEFAULT 0      -- of the journal
);
INSERT INTO cell DEFAULT VALUES;

CREATE TABLE principals (
    name       text PRIMARY KEY,
    kind       text NOT NULL DEFAULT 'user',
    created_at timestamptz NOT NULL DEFAULT now()
);

-- A resource. `state` and `condition` together are its class: all that a decision depends on.
CREATE TABLE resources (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    path        text COLLATE "C" NOT NULL UNIQUE,
    kind        text NOT NULL,
    state       text NOT NULL,
    condition   jsonb NOT NULL DEFAULT '{}',
    fence       bigint  NOT NULL DEFAULT 0,
    version     bigint  NOT NULL DEFAULT 1,
    operation   uuid,
    hidden      uuid,
    order_id    bigint,
    sends       smallint NOT NULL DEFAULT 0,      -- how often its order was sent anew
    lane        text NOT NULL DEFAULT '',
    token       uuid NOT NULL,                    -- under which the provider knows it
    spec        jsonb NOT NULL DEFAULT '{}',
    next_spec   jsonb,                            -- what an update under way brings
    facts       jsonb NOT NULL DEFAULT '{}',      -- what the provider said of it
    timers      jsonb NOT NULL DEFAULT '{}',      -- name to seconds since the epoch
    due         timestamptz,                      -- the first of them
    seen_at     timestamptz,
    look_at     timestamptz,                      -- when it is to be looked at, though nothing goes on
    changed_at  timestamptz NOT NULL DEFAULT now(),
    created_at  timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 80);
CREATE INDEX resources_due ON resources (due) WHERE due IS NOT NULL;
CREATE INDEX resources_look ON resources (look_at) WHERE look_at IS NOT NULL;
CREATE INDEX resources_lane ON resources (lane, path);
CREATE INDEX resources_kind ON resources (kind, path);
CREATE INDEX resources_token ON resources (token);

-- An operation that is under way.
CREATE TABLE operations (
    id         uuid PRIMARY KEY,
    action     text NOT NULL,
    kind       text NOT NULL,
    path       text COLLATE "C" NOT NULL,
    principal  text NOT NULL,
    reason     text NOT NULL DEFAULT '',
    request    jsonb NOT NULL DEFAULT '{}',
    total      bigint NOT NULL DEFAULT 1,
    remaining  bigint NOT NULL DEFAULT 1,
    failed     bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE ended_operations (
    LIKE operations INCLUDING DEFAULTS,
    outcome  text NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT now()
) PARTITION BY RANGE (ended_at);
CREATE INDEX ended_operations_id ON ended_operations (id);
CREATE INDEX ended_operations_path ON ended_operations (path, ended_at);
CREATE TABLE ended_operations_default PARTITION OF ended_operations DEFAULT;

-- Whole claims, as the algebra has them: exclusive (x) on a path, or use (i) of it. Ancestors are implied.
CREATE TABLE claims (
    path      text COLLATE "C" NOT NULL,
    mode      "char" NOT NULL CHECK (mode IN ('x', 'i')),
    operation uuid NOT NULL,
    PRIMARY KEY (path, operation)
);
CREATE INDEX claims_operation ON claims (operation);

-- An order that stands. Its members never change; the fence of each is its resource's.
CREATE TABLE orders (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    operation  uuid,
    lane       text NOT NULL,
    verb       text NOT NULL,
    members    bigint[] NOT NULL,
    attempt    integer NOT NULL DEFAULT 1,
    agent      text NOT NULL DEFAULT '',          -- who has custody of it
    epoch      bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orders_lane ON orders (lane);

CREATE TABLE idempotency_keys (
    principal   text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,                    -- of the request it was used for
    operation   uuid NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, key)
);

-- Whoever serves lanes, in the latest run that was heard of.
CREATE TABLE agents (
    name      text PRIMARY KEY,
    epoch     bigint NOT NULL DEFAULT 0,
    lanes     text[] NOT NULL DEFAULT '{}',
    version   text NOT NULL DEFAULT '',
    last_seen timestamptz NOT NULL DEFAULT now()
);

-- The lanes that somebody has served, each with when its full state is wanted next.
CREATE TABLE lanes (
    name      text PRIMARY KEY,
    survey_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX lanes_survey ON lanes (survey_at);

-- What a provider has that carries our tag and that nobody owns. It counts once it was found twice.
CREATE TABLE orphans (
    lane       text NOT NULL,
    token      text NOT NULL,
    path       text NOT NULL DEFAULT '',          -- of the resource it was made for, as its tag has it
    state      text NOT NULL,
    facts      jsonb NOT NULL DEFAULT '{}',
    first_seen timestamptz NOT NULL DEFAULT now(),
    last_seen  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lane, token)
);

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
    word      text NOT NULL,                      -- the action, or what was seen
    source    text NOT NULL,
    target    text NOT NULL,
    change    jsonb NOT NULL DEFAULT '{}',        -- of spec and facts; for a refusal its reasons
    refused   integer NOT NULL DEFAULT 0,         -- how often, where it is a refusal
    PRIMARY KEY (at, id)
) PARTITION BY RANGE (at);
CREATE INDEX journal_unnumbered ON journal (id) WHERE position IS NULL;
CREATE INDEX journal_position ON journal (position);
CREATE INDEX journal_path ON journal (path, at);
CREATE TABLE journal_default PARTITION OF journal DEFAULT;

-- Partitions are made ahead, a day each; what comes when none was made goes to the default one.
CREATE FUNCTION make_partitions(days integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    first  date;
    made   integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['journal', 'ended_operations'] LOOP
        FOR i IN 1..days LOOP  -- never today: the default partition may have rows of today
            first := (now() AT TIME ZONE 'utc')::date + i;
            IF to_regclass(format('%I', parent || '_' || to_char(first, 'YYYYMMDD'))) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                    parent || '_' || to_char(first, 'YYYYMMDD'), parent,
                    first::text || ' 00:00+00', (first + 1)::text || ' 00:00+00');
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
SELECT make_partitions(7);
