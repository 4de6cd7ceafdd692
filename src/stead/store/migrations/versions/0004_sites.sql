-- Sites that agents connect from, and specs that agents can tell apart.

-- Of a spec: the fence under which it was brought, so that no two of a resource have the same.
ALTER TABLE resources ADD COLUMN revision bigint NOT NULL DEFAULT 0,
                      ADD COLUMN next_revision bigint NOT NULL DEFAULT 0;  -- of the next one, while there is one

-- Runs of agents that serve the lane of a site, each under its epoch. One that was not heard of for a while is gone from
-- here, and gets another notify-id when it is heard of again.
CREATE TABLE connections (
    lane      text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL,
    agent     text NOT NULL,
    successor boolean NOT NULL DEFAULT false,     -- the new agent of an upgrade, which has not taken over yet
    notify    bigint,                             -- the id under which its site has heard of it
    told      boolean NOT NULL DEFAULT false,     -- its site has
    seen_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lane, epoch)
);
CREATE INDEX connections_seen ON connections (seen_at);
CREATE INDEX connections_untold ON connections (lane) WHERE NOT told;
CREATE INDEX IF NOT EXISTS resources_meeting ON resources (changed_at) WHERE kind = 'cloudlet' AND state IN ('Init', 'InitOk');
CREATE INDEX IF NOT EXISTS resources_expecting ON resources (lane) WHERE kind = 'cloudlet' AND state = 'Init';

DROP FUNCTION IF EXISTS meets(jsonb, jsonb, uuid);
