-- How long moves took that went well: by kind, action and moving state, on each lane and, under no lane, on all of them.
-- It grows with the kinds and the lanes there are, and neither with resources nor with the journal.
CREATE TABLE durations (
    kind       text NOT NULL,
    action     text NOT NULL,
    state      text NOT NULL,                     -- empty where the visible state stays while it is done
    lane       text COLLATE "C" NOT NULL,
    counts     jsonb NOT NULL,                    -- the number of a span of time, to how many took so long
    moves      double precision NOT NULL,         -- how many these are; old ones count less with each new one
    usual      double precision NOT NULL,         -- seconds within which half of them were over
    p99        double precision NOT NULL,         -- seconds within which 99 of 100 were
    learned_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, action, state, lane)
);

-- How far the journal was read for them.
CREATE TABLE durations_follower (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    position bigint NOT NULL DEFAULT 0
);
INSERT INTO durations_follower DEFAULT VALUES;

-- What is under way, by since when it is where it is.
CREATE INDEX IF NOT EXISTS resources_working ON resources (changed_at, id) WHERE operation IS NOT NULL OR hidden IS NOT NULL;

-- The few that are being looked at, or whose agent is waited out for that.
CREATE INDEX IF NOT EXISTS resources_probed ON resources (changed_at, id)
    WHERE condition #>> '{op,phase}' IN ('probing', 'fencing') OR condition #>> '{hidden,phase}' IN ('probing', 'fencing');

-- What became of those of which nobody had reported: somebody looked, or nobody could say.
CREATE INDEX IF NOT EXISTS journal_healed ON journal (at, id) WHERE trigger IN ('observed', 'timed_out') AND operation IS NOT NULL;
