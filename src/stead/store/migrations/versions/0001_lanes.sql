-- The lanes that somebody has served or wants served, each with when its full state is wanted next.
CREATE TABLE lanes (
    name      text COLLATE "C" PRIMARY KEY,
    members   integer CHECK (members > 0),        -- at once; as its provider has it, where it says nothing
    served    bigint NOT NULL DEFAULT 0,          -- the turn of the last order that was given room
    since     timestamptz NOT NULL DEFAULT '-infinity', -- when it was last given a region
    throttled bigint NOT NULL DEFAULT 0,          -- calls that the provider refused because there were too many
    throttled_at timestamptz,
    inventory_at timestamptz NOT NULL DEFAULT now()
);

-- What providers bear: members at once in a region, and regions at once. Without a number, as many as there are.
CREATE TABLE providers (
    name    text COLLATE "C" PRIMARY KEY,
    members integer CHECK (members > 0),
    regions integer CHECK (regions > 0)
);
INSERT INTO providers (name, regions, members) VALUES
    ('aws', 10, 30), ('azure', 8, 25), ('gcp', 12, 35), ('ncp', 3, 15), ('alibaba', 6, 20);
CREATE INDEX lanes_inventory ON lanes (inventory_at);

-- Which lanes each namespace may use. Nothing is allowed that does not stand here, the sites of a namespace apart.
CREATE TABLE lane_grants (
    namespace  text COLLATE "C" NOT NULL,         -- '*' is every namespace, also one to come
    lane       text COLLATE "C" NOT NULL,         -- 'aws.*' is every lane that begins with 'aws.'; '*' is every lane
    allowed    boolean NOT NULL,                  -- a denial outranks every grant
    reason     text NOT NULL DEFAULT '',
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, lane)
);

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
