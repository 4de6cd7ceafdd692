-- Registered lifecycles, and what is written by them. Whoever writes has a shared lock on the kind until the commit,
-- whoever registers an exclusive one: so nothing comes into a state that a new document lacks.

CREATE OR REPLACE FUNCTION lock_lifecycle(called text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(called, 1))
$$;

-- Raises where a change was decided by a document that is not in force any more and has what the new one lacks.
CREATE OR REPLACE FUNCTION check_lifecycles(ts decision_template[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    x record;
BEGIN
    FOR x IN SELECT DISTINCT t.kind FROM unnest(ts) t ORDER BY t.kind LOOP
        IF EXISTS (SELECT FROM lifecycles l WHERE l.kind = x.kind) THEN
            PERFORM pg_advisory_xact_lock_shared(hashtextextended(x.kind, 1));
        END IF;
    END LOOP;
    FOR x IN
        SELECT t.kind FROM unnest(ts) t JOIN lifecycles l ON l.kind = t.kind
         WHERE t.state <> ALL (l.states) OR t.start_operation ->> 'action' <> ALL (l.actions)
    LOOP
        RAISE EXCEPTION 'the lifecycle of % is another by now', x.kind USING ERRCODE = 'ST004';
    END LOOP;
END $$;

-- What of a kind is in none of these states, or is being done and is none of these actions, and how many of each.
CREATE OR REPLACE FUNCTION find_uncovered_resources(called text, those text[], going text[]) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('what', what, 'name', name, 'things', things) ORDER BY what DESC, name), '[]')
      FROM (
        SELECT 'state' AS what, state AS name, count(*) AS things FROM resources
         WHERE kind = called AND state <> ALL (those) GROUP BY state
        UNION ALL
        SELECT 'action', name, count(*) FROM (
            SELECT unnest(ARRAY[condition #>> '{op,action}', condition #>> '{hidden,action}']) AS name FROM resources
             WHERE kind = called AND (operation IS NOT NULL OR hidden IS NOT NULL)
            UNION ALL
            SELECT action FROM queued WHERE kind = called) under_way
         WHERE name <> ALL (going) GROUP BY name) found
$$;

-- Put a document in force, unless something is in the way, or somebody has registered another one since `was` was the
-- version. `going` are the actions that it leaves as they are.
CREATE OR REPLACE FUNCTION register_lifecycle(
    called text, was bigint, said text, those text[], does text[], going text[], seen jsonb, who text
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stands jsonb;
    is_now bigint;
BEGIN
    PERFORM lock_lifecycle(called);
    SELECT version INTO is_now FROM lifecycles WHERE kind = called;
    IF coalesce(is_now, 0) <> was THEN
        RETURN jsonb_build_array(jsonb_build_object('what', 'version', 'name', is_now::text, 'things', 1));
    END IF;
    stands := find_uncovered_resources(called, those, going);
    IF stands = '[]' THEN
        INSERT INTO lifecycles AS l (kind, document, states, actions, explored, registered_by)
        VALUES (called, said, those, does, seen, who)
        ON CONFLICT (kind) DO UPDATE SET
            version = l.version + 1, document = said, in_force = true, states = those, actions = does, explored = seen,
            registered_by = who, registered_at = now();
    END IF;
    RETURN stands;
END $$;

-- Let there be no such kind any more, unless there is something of it.
CREATE OR REPLACE FUNCTION unregister_lifecycle(called text, who text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stands jsonb;
BEGIN
    PERFORM lock_lifecycle(called);
    stands := find_uncovered_resources(called, '{}', '{}');
    IF stands = '[]' THEN
        UPDATE lifecycles SET version = version + 1, in_force = false, states = '{}', actions = '{}', registered_by = who,
                              registered_at = now()
         WHERE kind = called AND in_force;
    END IF;
    RETURN stands;
END $$;
