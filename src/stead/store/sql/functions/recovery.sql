-- What a cell does not do after its database went back in time, until an operator releases it.

-- Verbs of orders that change nothing at a provider, which a held cell gives nevertheless.
CREATE OR REPLACE FUNCTION is_observation_verb(verb text) RETURNS boolean LANGUAGE sql IMMUTABLE AS $$
    SELECT verb IN ('probe', 'gather')
$$;

-- Whether no order that changes anything may be given for a path: the cell is held, and neither the path nor anything
-- above it was released.
CREATE OR REPLACE FUNCTION is_held(at_path text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM cell WHERE held_since IS NOT NULL)
       AND NOT EXISTS (SELECT FROM released_paths p WHERE at_path = p.path OR starts_with(at_path, p.path || '/'));
END $$;

-- The database went back in time: whether an order that stood was carried out since is unknown, and so is what came
-- after it. So each counts as taken by an agent that has not been heard of since, and its object is probed as soon as
-- agents that are still at work can no longer act. Timeouts go on after the time that was lost. With `hold`, nothing
-- else is ordered until an operator releases it.
CREATE OR REPLACE FUNCTION recover_cell(custody float8, hold boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    at   constant float8 := extract(epoch FROM now());
    lost constant float8 := (SELECT greatest(extract(epoch FROM now() - max(j.at)), 0) FROM journal j WHERE j.kind <> 'cell');
BEGIN
    DELETE FROM released_paths;
    UPDATE cell SET held_since = CASE WHEN hold THEN now() END;
    UPDATE orders SET held = hold AND NOT is_observation_verb(verb);
    UPDATE resources r
       SET condition = jsonb_set(r.condition, '{work,taken}', 'true'), version = r.version + 1, waits = NULL,
           timers = (shift_timers(r.timers - ARRAY['resend', 'waiting'], coalesce(lost, 0))
                     || shift_timers(r.waits - 'resend', at)) || jsonb_build_object('custody', at + custody),
           due = earliest_timer((shift_timers(r.timers - ARRAY['resend', 'waiting'], coalesce(lost, 0))
                           || shift_timers(r.waits - 'resend', at)) || jsonb_build_object('custody', at + custody))
     WHERE r.order_id IS NOT NULL AND r.condition ? 'work';
    IF hold THEN
        PERFORM record_access_change('cell', 'hold', 'operator', '{}');
    END IF;
END $$;

-- Orders whose members were all released may be given; for a while after the release also those that were just being made.
CREATE OR REPLACE FUNCTION resume_orders() RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    freed bigint;
BEGIN
    IF NOT EXISTS (SELECT FROM cell WHERE held_since IS NOT NULL OR released_at > now() - interval '1 hour') THEN
        RETURN 0;
    END IF;
    UPDATE orders o SET held = false
     WHERE o.held AND NOT EXISTS (SELECT FROM resources r WHERE r.id = ANY (o.members) AND r.order_id = o.id
                                     AND is_held(r.path));
    GET DIAGNOSTICS freed = ROW_COUNT;
    RETURN freed;
END $$;

-- From now on the cell acts at a path and below it, or everywhere; whether it did not before.
CREATE OR REPLACE FUNCTION release_path(at_path text, acting_principal text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM cell WHERE held_since IS NOT NULL FOR UPDATE;
    IF NOT FOUND OR (at_path <> '/' AND NOT is_held(at_path)) THEN
        RETURN false;
    END IF;
    IF at_path = '/' THEN
        DELETE FROM released_paths;
        UPDATE cell SET held_since = NULL, released_at = now();
    ELSE
        INSERT INTO released_paths (path, released_by) VALUES (at_path, acting_principal);
    END IF;
    PERFORM resume_orders();
    PERFORM record_access_change('cell', 'release', acting_principal, '{}', at_path);
    RETURN true;
END $$;
