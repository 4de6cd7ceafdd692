-- What commits are made of. A type cannot be made anew while functions use it, so these stand apart from those.

-- What a decision does to every resource of one class.
CREATE TYPE template AS (
    kind      text,
    state     text,
    condition jsonb,
    raises    integer,     -- by how much the fence rises
    operation text,        -- afterwards: the 'same', 'none' or a 'new' one
    hidden    text,        -- likewise
    new       uuid,        -- the new one
    drops     text[],      -- timers that no longer run
    arms      jsonb,       -- timers that start, with when they are due
    again     boolean,     -- the order is sent anew; each time it is waited twice as long
    look      float8,      -- when it is to be looked at
    lines     jsonb,       -- what the journal tells
    stays     jsonb,       -- what it tells where nothing moves and facts have changed
    principal text,
    verb      text,        -- of the order that is given
    attempt   integer,
    closes    boolean,     -- the order that stood is done with
    takes     boolean,     -- the order that stands is taken
    agent     text,        -- by whom
    epoch     bigint,
    ends      jsonb,       -- operations that end, each with its outcome
    claim     text,        -- 'take' one, one 'beside' others, one 'over' those below, or what was held 'hands' over
    spec      text,        -- the 'next' one is in force, or is to be 'dropped', or is 'set'
    leaves    boolean,     -- the record goes
    gone      boolean,     -- it is gone for good, whether the record goes or not
    moved     boolean,
    begins    jsonb,       -- the operation that begins
    expands   jsonb        -- what the operation asks of the members below
);

-- One resource on the way through a commit.
CREATE TYPE work AS (
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
