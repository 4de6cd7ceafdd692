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
    lane        text COLLATE "C" NOT NULL DEFAULT '',
    token       uuid NOT NULL,                    -- under which the provider knows it
    spec        jsonb NOT NULL DEFAULT '{}',
    next_spec   jsonb,                            -- what an update under way brings
    facts       jsonb NOT NULL DEFAULT '{}',      -- what the provider said of it
    timers      jsonb NOT NULL DEFAULT '{}',      -- name to seconds since the epoch
    waits       jsonb,                            -- timers that start when its order is granted, in seconds
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
CREATE INDEX resources_bad ON resources (path)     -- the few that one looks for
    WHERE state IN ('Failed', 'Undefined', 'CreateError', 'UpdateError', 'DeleteError', 'ERROR', 'error', 'failed', 'degraded',
                    'Offline');

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
    expanded   boolean NOT NULL DEFAULT true,      -- of a group: whether all its members have been asked
    says       text NOT NULL DEFAULT '',           -- what it waits for, or why it failed, where there is more to say
    orders     bigint NOT NULL DEFAULT 0,          -- of a group: in how many its members were put
    created_at timestamptz NOT NULL DEFAULT now()
);

-- Of an operation on a group: how far it has come in asking its members. All are asked once there is nothing after it.
CREATE TABLE expansions (
    operation uuid PRIMARY KEY,
    path      text COLLATE "C" NOT NULL,          -- of the group
    member    text NOT NULL,                      -- the kind that is asked
    after     text COLLATE "C" NOT NULL,          -- the last member that was asked
    request   jsonb NOT NULL,                     -- what each is asked
    turn      integer NOT NULL DEFAULT 0,         -- rises when something else is asked of them than before
    at        timestamptz NOT NULL DEFAULT now()  -- when the last of them was
);
CREATE INDEX operations_counted ON operations (id) WHERE remaining = 0;
CREATE INDEX operations_grouped ON operations (id) WHERE orders > 0;

-- Members of an operation that did not do what it asked of them, and why.
CREATE TABLE operation_members (
    operation uuid NOT NULL,
    path      text COLLATE "C" NOT NULL,
    outcome   text NOT NULL,                      -- as of an operation, or 'skipped'
    says      text NOT NULL DEFAULT '',
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (operation, path)
);

CREATE TABLE ended_operations (
    LIKE operations INCLUDING DEFAULTS,
    outcome  text NOT NULL,
    ended_at timestamptz NOT NULL DEFAULT now(),
    reasons  jsonb NOT NULL DEFAULT '[]'          -- why it was refused, where it was when its turn came
) PARTITION BY RANGE (ended_at);
CREATE INDEX ended_operations_id ON ended_operations (id);
CREATE INDEX ended_operations_path ON ended_operations (path, ended_at);
CREATE INDEX ended_operations_grouped ON ended_operations (ended_at) WHERE orders > 0;
CREATE TABLE ended_operations_default PARTITION OF ended_operations DEFAULT;

-- Whole claims, as the algebra has them: exclusive (x) on a path, or use (i) of it. Ancestors are implied. A claim is an
-- operation's; or it is a resource's, which uses what others use, too, for as long as it lives.
CREATE TABLE claims (
    path      text COLLATE "C" NOT NULL,
    mode      "char" NOT NULL CHECK (mode IN ('x', 'i')),
    operation uuid NOT NULL,                      -- or the resource's token
    used_by   text COLLATE "C" NOT NULL DEFAULT '',  -- the resource
    PRIMARY KEY (path, operation)
);
CREATE INDEX claims_operation ON claims (operation);
CREATE INDEX claims_used_by ON claims (used_by) WHERE used_by <> '';

-- Where requests wait their turn: an object's queue, made on first use.
CREATE TABLE queues (
    path       text COLLATE "C" PRIMARY KEY,
    stopping   boolean NOT NULL DEFAULT false,    -- it takes nothing more, and goes when it is empty
    running    uuid,                              -- the operation that left it last
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX queues_running ON queues (running) WHERE running IS NOT NULL;
CREATE INDEX queues_stopping ON queues (path) WHERE stopping;

-- An operation that waits its turn. It is deleted by the transaction that begins it, or that ends it without that.
CREATE TABLE queued (
    operation  uuid PRIMARY KEY,
    queue      text COLLATE "C" NOT NULL,
    path       text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    action     text NOT NULL,
    principal  text NOT NULL,
    actor      text NOT NULL,
    reason     text NOT NULL DEFAULT '',
    request    jsonb NOT NULL DEFAULT '{}',
    turn       bigint GENERATED BY DEFAULT AS IDENTITY,  -- the least is next
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX queued_turn ON queued (queue, turn, operation);
CREATE INDEX queued_path ON queued (path);

-- An order that stands. Its members never change; the fence of each is its resource's.
CREATE TABLE orders (
    id         bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    operation  uuid,
    lane       text COLLATE "C" NOT NULL,
    kind       text NOT NULL,
    verb       text NOT NULL,
    members    bigint[] NOT NULL,
    open       integer NOT NULL DEFAULT 1,        -- members for which it still stands
    attempt    integer NOT NULL DEFAULT 1,
    granted    boolean NOT NULL DEFAULT true,     -- its members fit; before that nobody is told of it
    turn       bigint NOT NULL DEFAULT 0,         -- while it waits: those with the least get room first
    agent      text NOT NULL DEFAULT '',          -- who has custody of it
    epoch      bigint NOT NULL DEFAULT 0,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX orders_lane ON orders (lane) WHERE granted;
CREATE INDEX orders_turn ON orders (lane, turn, id) WHERE NOT granted;
CREATE INDEX orders_waiting ON orders (lane, operation, turn) WHERE NOT granted;

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

-- The lanes that somebody has served or wants served, each with when its full state is wanted next.
CREATE TABLE lanes (
    name      text COLLATE "C" PRIMARY KEY,
    members   integer CHECK (members > 0),        -- at once; as its provider has it, where it says nothing
    served    bigint NOT NULL DEFAULT 0,          -- the turn of the last order that was given room
    since     timestamptz NOT NULL DEFAULT '-infinity', -- when it was last given a region
    throttled bigint NOT NULL DEFAULT 0,          -- calls that the provider refused because there were too many
    throttled_at timestamptz,
    survey_at timestamptz NOT NULL DEFAULT now()
);

-- What providers bear: members at once in a region, and regions at once. Without a number, as many as there are.
CREATE TABLE providers (
    name    text COLLATE "C" PRIMARY KEY,
    members integer CHECK (members > 0),
    regions integer CHECK (regions > 0)
);
INSERT INTO providers (name, regions, members) VALUES
    ('aws', 10, 30), ('azure', 8, 25), ('gcp', 12, 35), ('ncp', 3, 15), ('alibaba', 6, 20);
CREATE INDEX lanes_survey ON lanes (survey_at);

-- What a provider has that carries our tag and that nobody owns. It counts once it was found twice.
CREATE TABLE orphans (
    lane       text COLLATE "C" NOT NULL,
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

-- How many resources of a kind are in which state below a path: what the numbered part of the journal adds up to. States
-- of what is not there have a count too, which means nothing.
CREATE TABLE counts (
    path    text COLLATE "C" NOT NULL,
    kind    text NOT NULL,
    state   text NOT NULL,
    members bigint NOT NULL,
    PRIMARY KEY (path, kind, state)
);

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
