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
CREATE INDEX operations_counted ON operations (id) WHERE remaining = 0;
CREATE INDEX operations_grouped ON operations (id) WHERE orders > 0;

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

-- Members of an operation that did not do what it asked of them, and why.
CREATE TABLE operation_members (
    operation uuid NOT NULL,
    path      text COLLATE "C" NOT NULL,
    outcome   text NOT NULL,                      -- as of an operation, or 'skipped'
    says      text NOT NULL DEFAULT '',
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (operation, path)
);

-- An operation on a group asked a member for an action that was in progress on it already: the member joined, and the
-- operation waits for that one to end. Several operations may wait for the same one.
CREATE TABLE operation_waits (
    operation uuid NOT NULL,                      -- the one that waits
    path      text COLLATE "C" NOT NULL,          -- of the member
    joined    uuid NOT NULL,                      -- the operation in progress on the member; its record may have ended
    at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (joined, path, operation)
);
CREATE INDEX operation_waits_operation ON operation_waits (operation, path);

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

CREATE TABLE idempotency_keys (
    principal   text NOT NULL,
    key         text NOT NULL,
    fingerprint text NOT NULL,                    -- of the request it was used for
    operation   uuid NOT NULL,
    created_at  timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (principal, key)
);
CREATE INDEX idempotency_keys_created ON idempotency_keys (created_at);
