-- What somebody asks for in the course of another operation is not kept off by that one's claim.
DROP FUNCTION IF EXISTS holder_of(jsonb, uuid);

-- Machines by the node that they are on, or are on their way to.
CREATE INDEX IF NOT EXISTS resources_node ON resources ((spec ->> 'node'), path) WHERE kind = 'machine';
CREATE INDEX IF NOT EXISTS resources_next_node ON resources ((next_spec ->> 'node'), path)
    WHERE kind = 'machine' AND next_spec IS NOT NULL;

CREATE FUNCTION machines_on(node text) RETURNS TABLE (path text, state text, lane text, spec jsonb, hidden uuid, operation uuid)
    LANGUAGE sql STABLE AS $$
    SELECT r.path, r.state, r.lane, r.spec, r.hidden, r.operation FROM resources r
     WHERE r.kind = 'machine' AND r.spec ->> 'node' = node AND r.state NOT IN ('VIRTUAL', 'DESTROYED')
    UNION
    SELECT r.path, r.state, r.lane, r.spec, r.hidden, r.operation FROM resources r
     WHERE r.kind = 'machine' AND r.next_spec IS NOT NULL AND r.next_spec ->> 'node' = node
       AND r.state NOT IN ('VIRTUAL', 'DESTROYED')
$$;

-- Disks by the machine that they are attached to: what was seen counts before what was asked for.
CREATE OR REPLACE FUNCTION machine_of(spec jsonb, facts jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN facts ? 'machine' THEN facts ->> 'machine' ELSE spec ->> 'machine' END
$$;
CREATE INDEX IF NOT EXISTS resources_machine ON resources (machine_of(spec, facts), path) WHERE kind = 'disk';

-- Machines that were deleted, restored or destroyed, whose disks have not all followed them yet.
CREATE TABLE attachments (
    machine text COLLATE "C" PRIMARY KEY,
    turn    bigint NOT NULL DEFAULT 0,            -- rises when the machine has moved again
    look_at timestamptz NOT NULL DEFAULT 'epoch'
);
CREATE INDEX attachments_look ON attachments (look_at);

-- How far the journal was read for such moves.
CREATE TABLE attachments_follower (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    position bigint NOT NULL
);
INSERT INTO attachments_follower (position) SELECT last_position FROM cell;

-- How much accounts and cloudspaces have, and the most that they may have. Memory and storage are MiB.
CREATE TABLE quotas (
    path text COLLATE "C" NOT NULL,
    what text NOT NULL CHECK (what IN ('machines', 'cpus', 'memory', 'disks', 'storage')),
    used bigint NOT NULL DEFAULT 0,
    most bigint CHECK (most >= 0),                -- none: as much as there is
    PRIMARY KEY (path, what)
);

CREATE FUNCTION number_in(spec jsonb, field text, otherwise bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN spec ->> field ~ '^[0-9]{1,9}$' THEN (spec ->> field)::bigint ELSE otherwise END
$$;

-- What something takes from them.
CREATE FUNCTION takes(kind text, spec jsonb) RETURNS TABLE (what text, wanted bigint) LANGUAGE sql IMMUTABLE AS $$
    SELECT t.what, t.wanted FROM (VALUES
        ('machine', 'machines', 1), ('machine', 'cpus', number_in(spec, 'cpu', 1)),
        ('machine', 'memory', number_in(spec, 'memory', 512)), ('machine', 'storage', number_in(spec, 'disk', 0)),
        ('disk', 'disks', 1), ('disk', 'storage', number_in(spec, 'size', 1024))) t (kind, what, wanted)
     WHERE t.kind = takes.kind AND t.wanted > 0
$$;

CREATE FUNCTION room_for(kind text, path text, spec jsonb)
    RETURNS TABLE (path text, what text, used bigint, most bigint, wanted bigint) LANGUAGE sql STABLE AS $$
    SELECT q.path, q.what, q.used, q.most, t.wanted FROM quotas q, takes(room_for.kind, spec) t
     WHERE q.path = ANY (ancestors_of(room_for.path)) AND q.what = t.what AND q.most IS NOT NULL
     ORDER BY q.path, q.what
$$;

-- A machine or a disk counts from when it begins to be made until it is destroyed.
CREATE FUNCTION count_used() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counts   boolean := NEW.state NOT IN ('VIRTUAL', 'MODELED', 'DESTROYED');
    counted  boolean := TG_OP = 'UPDATE' AND OLD.state NOT IN ('VIRTUAL', 'MODELED', 'DESTROYED');
BEGIN
    IF counts <> counted THEN
        INSERT INTO quotas AS q (path, what, used)
        SELECT above, t.what, CASE WHEN counts THEN t.wanted ELSE -t.wanted END
          FROM unnest(ancestors_of(NEW.path)) above, takes(NEW.kind, NEW.spec) t WHERE above <> '/' ORDER BY 1, 2
        ON CONFLICT (path, what) DO UPDATE SET used = q.used + EXCLUDED.used;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER resources_used AFTER INSERT OR UPDATE OF state ON resources FOR EACH ROW
    WHEN (NEW.kind IN ('machine', 'disk')) EXECUTE FUNCTION count_used();
