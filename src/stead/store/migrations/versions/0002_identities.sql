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
