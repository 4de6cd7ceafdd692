-- Who may ask, and what for. Secrets are kept as their SHA-256 only: each has 256 random bits, so a slow hash would
-- make nothing harder for whoever reads the table.

-- Rises with every change of what is below; a server that sees it rise forgets what it remembered of it.
CREATE TABLE access (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    version  bigint NOT NULL DEFAULT 1
);
INSERT INTO access DEFAULT VALUES;

-- For programs: a name, what it may, and until when.
CREATE TABLE tokens (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    hash       bytea NOT NULL,
    roles      jsonb NOT NULL,                    -- pairs of role and namespace; '*' is every namespace and the cell
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    used_at    timestamptz                        -- to the hour
);

-- For browsers: what a login was worth, so that no token has to be kept where scripts can read it.
CREATE TABLE sessions (
    hash       bytea PRIMARY KEY,
    principal  text NOT NULL,
    groups     jsonb NOT NULL DEFAULT '[]',
    token      text REFERENCES tokens ON DELETE CASCADE,  -- the one that it was opened with, if it was
    expires_at timestamptz NOT NULL
);
CREATE INDEX sessions_expire ON sessions (expires_at);

-- Which roles people and groups have, and where.
CREATE TABLE grants (
    subject    text NOT NULL,                     -- user:NAME or group:NAME
    role       text NOT NULL,
    namespace  text NOT NULL,                     -- '*' is every namespace and the cell
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (subject, role, namespace)
);

-- What an operator says beyond roles, in Cedar.
CREATE TABLE policies (
    name       text PRIMARY KEY,
    text       text NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now()
);
