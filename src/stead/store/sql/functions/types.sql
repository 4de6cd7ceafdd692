-- What commits are made of. A type cannot be made anew while functions use it, so these stand apart from those.

-- What a decision does to every resource of one class.
CREATE TYPE decision_template AS (
    kind            text,
    state           text,
    condition       jsonb,
    fence_delta     integer,     -- by how much the fence rises
    operation       text,        -- afterwards: the 'same', 'none' or a 'new' one
    hidden          text,        -- likewise
    new             uuid,        -- the new one
    stop_timers     text[],      -- timers that no longer run
    start_timers    jsonb,       -- timers that start, with when they are due
    resend          boolean,     -- the order is sent anew; each time it is waited twice as long
    observe_at      float8,      -- when it is to be looked at
    journal_lines   jsonb,       -- what the journal tells
    unchanged_lines jsonb,       -- what it tells where nothing moves and facts have changed
    principal       text,
    verb            text,        -- of the order that is given
    attempt         integer,
    close_order     boolean,     -- the order that stood is done with
    take_order      boolean,     -- the order that stands is taken
    agent           text,        -- by whom
    epoch           bigint,
    end_operations  jsonb,       -- operations that end, each with its outcome
    claim           text,        -- 'take' one, one 'beside' others, one 'over' those below, or what was held 'hands' over
    spec            text,        -- the 'next' one is in force, or is to be 'dropped', or is 'set'
    delete_row      boolean,     -- the record goes
    is_gone         boolean,     -- it is gone for good, whether the record goes or not
    is_transition   boolean,
    start_operation jsonb,       -- the operation that begins
    expand_members  jsonb        -- what the operation asks of the members below
);

-- One resource on the way through a commit.
CREATE TYPE pending_change AS (
    n         bigint,
    t         integer,
    id        bigint,
    path      text,
    lane      text,
    operation uuid,
    hidden    uuid,
    order_id  bigint,
    now_op    uuid,        -- afterwards
    now_hid   uuid,
    timers    jsonb,
    new_order bigint,
    granted   boolean,     -- its order may be sent at once
    waits     jsonb,       -- otherwise: timers that start when it may
    told      jsonb,       -- what of it the journal tells beside the moves
    extra     jsonb
);
