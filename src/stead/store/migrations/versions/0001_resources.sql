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
    observed_at timestamptz,
    observe_at  timestamptz,                      -- when it is observed next, though no operation is in progress
    changed_at  timestamptz NOT NULL DEFAULT now(),
    created_at  timestamptz NOT NULL DEFAULT now(),
    revision    bigint NOT NULL DEFAULT 0,        -- of the spec: the fence under which it was brought, so no two are the same
    next_revision bigint NOT NULL DEFAULT 0       -- of the next one, while there is one
) WITH (fillfactor = 80);
CREATE INDEX resources_due ON resources (due) WHERE due IS NOT NULL;
CREATE INDEX resources_observe ON resources (observe_at) WHERE observe_at IS NOT NULL;
CREATE INDEX resources_lane ON resources (lane, path);
CREATE INDEX resources_kind ON resources (kind, path);
CREATE INDEX resources_token ON resources (token);
CREATE INDEX resources_unhealthy ON resources (path)     -- the few that one looks for
    WHERE state IN ('Failed', 'Undefined', 'CreateError', 'UpdateError', 'DeleteError', 'ERROR', 'error', 'failed', 'degraded',
                    'Offline');

-- Sites that connect for the first time.
CREATE INDEX resources_meeting ON resources (changed_at)
    WHERE kind = 'cloudlet' AND state IN ('Init', 'InitOk');
CREATE INDEX resources_expecting ON resources (lane) WHERE kind = 'cloudlet' AND state = 'Init';

-- Operations in progress, by since when they are where they are.
CREATE INDEX resources_in_progress ON resources (changed_at, id)
    WHERE operation IS NOT NULL OR hidden IS NOT NULL;

-- The few that are being probed, or whose agent is waited out for that.
CREATE INDEX resources_probed ON resources (changed_at, id)
    WHERE condition #>> '{op,phase}' IN ('probing', 'fencing') OR condition #>> '{hidden,phase}' IN ('probing', 'fencing');

-- Machines by the node that they are on, or are on their way to.
CREATE INDEX resources_node ON resources ((spec ->> 'node'), path) WHERE kind = 'machine';
CREATE INDEX resources_next_node ON resources ((next_spec ->> 'node'), path)
    WHERE kind = 'machine' AND next_spec IS NOT NULL;

-- Disks by the machine that they are attached to: what was observed counts before what was requested.
CREATE FUNCTION machine_of_disk(spec jsonb, facts jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN facts ? 'machine' THEN facts ->> 'machine' ELSE spec ->> 'machine' END
$$;
CREATE INDEX resources_machine ON resources (machine_of_disk(spec, facts), path) WHERE kind = 'disk';

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

-- How many resources of a kind are in which state below a path: what the numbered part of the journal adds up to. States
-- of what is not there have a count too, which means nothing.
CREATE TABLE counts (
    path    text COLLATE "C" NOT NULL,
    kind    text NOT NULL,
    state   text NOT NULL,
    members bigint NOT NULL,
    PRIMARY KEY (path, kind, state)
);

-- By minute, how many calls to providers observations took, and for how many resources they spared one each.
CREATE TABLE observations (
    at      timestamptz PRIMARY KEY,
    calls   bigint NOT NULL,
    members bigint NOT NULL
);
