-- Registered lifecycles, and what is written by them. Whoever writes has a shared lock on the kind until the commit,
-- whoever registers an exclusive one: so nothing comes into a state that a new document lacks.

CREATE OR REPLACE FUNCTION lock_lifecycle(kind_name text) RETURNS void LANGUAGE sql AS $$
    SELECT pg_advisory_xact_lock(hashtextextended(kind_name, 1))
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
CREATE OR REPLACE FUNCTION find_uncovered_resources(kind_name text, known_states text[], kept_actions text[]) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(jsonb_build_object('what', what, 'name', name, 'things', things) ORDER BY what DESC, name), '[]')
      FROM (
        SELECT 'state' AS what, state AS name, count(*) AS things FROM resources
         WHERE kind = kind_name AND state <> ALL (known_states) GROUP BY state
        UNION ALL
        SELECT 'action', name, count(*) FROM (
            SELECT unnest(ARRAY[condition #>> '{op,action}', condition #>> '{hidden,action}']) AS name FROM resources
             WHERE kind = kind_name AND (operation IS NOT NULL OR hidden IS NOT NULL)
            UNION ALL
            SELECT action FROM queued WHERE kind = kind_name) under_way
         WHERE name <> ALL (kept_actions) GROUP BY name) found
$$;

-- Put a document in force, unless something is in the way, or somebody has registered another one since `expected_version`.
-- `kept_actions` are those that it leaves as they are.
CREATE OR REPLACE FUNCTION register_lifecycle(
    kind_name text, expected_version bigint, new_document text, known_states text[], new_actions text[], kept_actions text[],
    exploration jsonb, acting_principal text
) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stands jsonb;
    is_now bigint;
BEGIN
    PERFORM lock_lifecycle(kind_name);
    SELECT version INTO is_now FROM lifecycles WHERE kind = kind_name;
    IF coalesce(is_now, 0) <> expected_version THEN
        RETURN jsonb_build_array(jsonb_build_object('what', 'version', 'name', is_now::text, 'things', 1));
    END IF;
    stands := find_uncovered_resources(kind_name, known_states, kept_actions);
    IF stands = '[]' THEN
        INSERT INTO lifecycles AS l (kind, document, states, actions, explored, registered_by)
        VALUES (kind_name, new_document, known_states, new_actions, exploration, acting_principal)
        ON CONFLICT (kind) DO UPDATE SET
            version = l.version + 1, document = new_document, in_force = true, states = known_states, actions = new_actions,
            explored = exploration, registered_by = acting_principal, registered_at = now();
    END IF;
    RETURN stands;
END $$;

-- Let there be no such kind any more, unless there is something of it.
CREATE OR REPLACE FUNCTION unregister_lifecycle(kind_name text, acting_principal text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stands jsonb;
BEGIN
    PERFORM lock_lifecycle(kind_name);
    stands := find_uncovered_resources(kind_name, '{}', '{}');
    IF stands = '[]' THEN
        UPDATE lifecycles SET version = version + 1, in_force = false, states = '{}', actions = '{}', registered_by = acting_principal,
                              registered_at = now()
         WHERE kind = kind_name AND in_force;
    END IF;
    RETURN stands;
END $$;
