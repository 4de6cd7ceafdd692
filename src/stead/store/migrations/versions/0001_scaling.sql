-- Policies that make and delete instances of an app as demand has it. One at rest has no time to be looked at, and costs
-- nothing: new figures, another text, and moves of what it looks at wake it.
CREATE TABLE scaling (
    namespace  text COLLATE "C" NOT NULL,
    name       text COLLATE "C" NOT NULL,
    id         uuid NOT NULL,                     -- of this policy, and of no later one of the same name
    policy     jsonb NOT NULL,
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    acts       jsonb NOT NULL DEFAULT '[]',       -- what it did last at each place
    deeds      jsonb NOT NULL DEFAULT '[]',       -- what it is about to ask for: written before, asked again after a crash
    verdict    jsonb NOT NULL DEFAULT '{}',       -- what it found last, and why it does nothing
    turn       bigint NOT NULL DEFAULT 0,         -- rises with all that is written of what it does: only one writes it
    woken      bigint NOT NULL DEFAULT 0,         -- rises when there is something new
    evaluate_at timestamptz DEFAULT 'epoch',
    PRIMARY KEY (namespace, name)
);
CREATE INDEX scaling_evaluate ON scaling (evaluate_at) WHERE evaluate_at IS NOT NULL;

-- Where they may have instances: a move there concerns them.
CREATE TABLE scaling_places (
    place     text COLLATE "C" NOT NULL,
    site      text COLLATE "C" NOT NULL,
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    PRIMARY KEY (place, namespace, name),
    FOREIGN KEY (namespace, name) REFERENCES scaling ON DELETE CASCADE
);
CREATE INDEX scaling_places_site ON scaling_places (site);
CREATE INDEX scaling_places_of ON scaling_places (namespace, name);

-- The latest figure of each place, or under no place of all of them together.
CREATE TABLE scaling_demand (
    namespace text COLLATE "C" NOT NULL,
    name      text COLLATE "C" NOT NULL,
    place     text COLLATE "C" NOT NULL,
    value     double precision NOT NULL,
    at        timestamptz NOT NULL,               -- when it was measured
    told_by   text NOT NULL,
    PRIMARY KEY (namespace, name, place),
    FOREIGN KEY (namespace, name) REFERENCES scaling ON DELETE CASCADE
);

-- How far the journal was read for moves that concern them.
CREATE TABLE scaling_follower (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    position bigint NOT NULL
);
INSERT INTO scaling_follower (position) SELECT last_position FROM cell;
