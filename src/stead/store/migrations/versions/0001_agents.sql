-- Whoever serves lanes, in the latest run that was heard of.
CREATE TABLE agents (
    name      text PRIMARY KEY,
    epoch     bigint NOT NULL DEFAULT 0,
    lanes     text[] NOT NULL DEFAULT '{}',
    version   text NOT NULL DEFAULT '',
    last_seen timestamptz NOT NULL DEFAULT now(),
    rejected  jsonb NOT NULL DEFAULT '{}',        -- by lane, why its provider rejects the agent, as with wrong credentials
    clock_offset float8 NOT NULL DEFAULT 0        -- seconds by which its clock was ahead of the database's
);

-- Who may be an agent, under which name and for which lanes; `agents` has who was heard of.
CREATE TABLE agent_identities (
    name       text PRIMARY KEY,
    lanes      text[] NOT NULL,
    user_key   text NOT NULL UNIQUE,              -- the public half of what it is known by on the bus
    joined_at  timestamptz NOT NULL DEFAULT now(),
    issued_at  timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,              -- of what it connects with
    revoked_at timestamptz
);

-- A token that lets one agent in, once. It is kept as a digest: whoever reads this table has no token.
CREATE TABLE agent_invitations (
    digest     bytea PRIMARY KEY,
    name       text NOT NULL,
    lanes      text[] NOT NULL,
    invited_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX agent_invitations_name ON agent_invitations (name);

-- Keys that hold no longer. Once all that was signed for one is over by itself, nobody needs to be told of it.
CREATE TABLE revoked_keys (
    user_key   text PRIMARY KEY,
    name       text NOT NULL,
    revoked_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL
);
CREATE INDEX revoked_keys_expire ON revoked_keys (expires_at);

-- Runs of agents that serve the lane of a site, each under its epoch. One that was not heard of for a while is gone from
-- here, and gets another notify-id when it is heard of again.
CREATE TABLE connections (
    lane      text COLLATE "C" NOT NULL,
    epoch     bigint NOT NULL,
    agent     text NOT NULL,
    successor boolean NOT NULL DEFAULT false,     -- the new agent of an upgrade, which has not taken over yet
    notify    bigint,                             -- the id under which its site has heard of it
    announced boolean NOT NULL DEFAULT false,     -- its site has heard of it
    last_seen timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (lane, epoch)
);
CREATE INDEX connections_last_seen ON connections (last_seen);
CREATE INDEX connections_unannounced ON connections (lane) WHERE NOT announced;

-- Sites that were forgotten, by their lanes: an agent that comes back for one is told so. A site that is made anew under the
-- name takes its entry away when its agent connects.
CREATE TABLE removed_sites (
    lane         text COLLATE "C" PRIMARY KEY,
    path         text NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT now()
);
