-- One or many decided changes, each written whole or not at all. What was read may have changed since: each change
-- carries the version it was decided on, and one that comes too late is answered with a conflict and written nowhere.
--
-- A function of several statements, because a check must see what was committed before its lock was granted, and one
-- statement sees only what was there when it began.
CREATE OR REPLACE FUNCTION commit_changes(changes jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    c        jsonb;
    answers  jsonb := '[]';
    answer   jsonb;
BEGIN
    FOR c IN SELECT value FROM jsonb_array_elements(changes) LOOP
        answer := commit_change(c);
        answers := answers || answer;
    END LOOP;
    RETURN answers;
END $$;

CREATE OR REPLACE FUNCTION commit_change(c jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    begun     jsonb := c -> 'begin';
    taking    jsonb := c -> 'take';
    holder    jsonb;
    known     idempotency_keys%ROWTYPE;
    this_id   bigint := (c ->> 'id')::bigint;
    new_order bigint;
    old_order bigint;
    lane_of   text := c ->> 'lane';
    ended     jsonb;
BEGIN
    -- The same key again: whatever it began before is the answer.
    IF begun ? 'key' THEN
        SELECT * INTO known FROM idempotency_keys
         WHERE principal = begun ->> 'principal' AND key = begun ->> 'key';
        IF FOUND THEN
            RETURN jsonb_build_object('conflict', 'key', 'operation', known.operation,
                                      'same', known.fingerprint = begun ->> 'fingerprint');
        END IF;
    END IF;

    IF taking IS NOT NULL THEN
        PERFORM lock_paths(taking);
        -- What an operation has already is not in its own way.
        holder := holder_of(taking, coalesce(c ->> 'hands', c ->> 'hidden', c ->> 'operation')::uuid);
        IF holder IS NOT NULL THEN
            RETURN jsonb_build_object('conflict', 'claim', 'holder', holder);
        END IF;
    END IF;

    -- The compare-and-set. Nothing was written before it, and all that follows belongs to it.
    IF this_id IS NULL THEN
        INSERT INTO resources (path, kind, state, condition, fence, operation, hidden, lane, token, spec, next_spec,
                               timers, due, look_at)
        VALUES (c ->> 'path', c ->> 'kind', c ->> 'state', c -> 'condition', (c ->> 'fence')::bigint,
                (c ->> 'operation')::uuid, (c ->> 'hidden')::uuid, lane_of, (c ->> 'token')::uuid, c -> 'spec',
                nullif(c -> 'next_spec', 'null'), c -> 'timers', to_timestamp((c ->> 'due')::float8),
                to_timestamp((c ->> 'look')::float8))
        ON CONFLICT (path) DO NOTHING
        RETURNING id INTO this_id;
    ELSIF c ? 'leaves' THEN
        DELETE FROM resources WHERE id = this_id AND version = (c ->> 'version')::bigint
        RETURNING order_id INTO old_order;
        IF NOT FOUND THEN this_id := NULL; END IF;
    ELSE
        SELECT order_id INTO old_order FROM resources
         WHERE id = this_id AND version = (c ->> 'version')::bigint FOR UPDATE;
        IF FOUND THEN
            UPDATE resources SET
                state = c ->> 'state', condition = c -> 'condition', fence = (c ->> 'fence')::bigint,
                version = version + 1, operation = (c ->> 'operation')::uuid, hidden = (c ->> 'hidden')::uuid,
                spec = coalesce(c -> 'spec', spec),
                next_spec = CASE WHEN c ? 'next_spec' THEN nullif(c -> 'next_spec', 'null') ELSE next_spec END,
                facts = facts || coalesce(c -> 'facts', '{}'), timers = c -> 'timers',
                due = to_timestamp((c ->> 'due')::float8), look_at = to_timestamp((c ->> 'look')::float8),
                sends = coalesce((c -> 'order' ->> 'sends')::int, sends),
                order_id = CASE WHEN c ? 'closes' THEN NULL ELSE order_id END,
                seen_at = CASE WHEN c ? 'seen' THEN now() ELSE seen_at END,
                changed_at = CASE WHEN c ? 'moved' THEN now() ELSE changed_at END
            WHERE id = this_id;
        ELSE
            this_id := NULL;
        END IF;
    END IF;
    IF this_id IS NULL THEN
        RETURN jsonb_build_object('conflict', 'version');
    END IF;

    IF begun IS NOT NULL THEN
        INSERT INTO operations (id, action, kind, path, principal, reason, request)
        VALUES ((begun ->> 'id')::uuid, begun ->> 'action', c ->> 'kind', c ->> 'path', begun ->> 'principal',
                begun ->> 'reason', begun -> 'request');
        IF begun ? 'key' THEN
            INSERT INTO idempotency_keys (principal, key, fingerprint, operation)
            VALUES (begun ->> 'principal', begun ->> 'key', begun ->> 'fingerprint', (begun ->> 'id')::uuid);
        END IF;
    END IF;

    IF c ? 'hands' THEN
        UPDATE claims SET operation = (c ->> 'operation')::uuid WHERE operation = (c ->> 'hands')::uuid;
    END IF;
    IF taking IS NOT NULL THEN
        INSERT INTO claims (path, mode, operation)
        SELECT t ->> 'path', (t ->> 'mode')::"char", coalesce(c ->> 'hidden', c ->> 'operation')::uuid
          FROM jsonb_array_elements(taking) t
        ON CONFLICT (path, operation) DO UPDATE SET mode = 'x' WHERE EXCLUDED.mode = 'x' AND claims.mode <> 'x';
    END IF;

    IF old_order IS NOT NULL AND (c ? 'order' OR c ? 'closes' OR c ? 'leaves') THEN
        DELETE FROM orders WHERE id = old_order;
    END IF;
    IF c ? 'order' THEN
        INSERT INTO orders (operation, lane, verb, members, attempt)
        VALUES (coalesce(c ->> 'hidden', c ->> 'operation')::uuid, lane_of, c -> 'order' ->> 'verb',
                ARRAY[this_id], (c -> 'order' ->> 'attempt')::int)
        RETURNING id INTO new_order;
        UPDATE resources SET order_id = new_order WHERE id = this_id;
    ELSIF c ? 'taken' THEN
        UPDATE orders SET agent = coalesce(c -> 'taken' ->> 'agent', ''),
                          epoch = coalesce((c -> 'taken' ->> 'epoch')::bigint, 0)
         WHERE id = old_order;
    END IF;

    INSERT INTO journal (path, kind, operation, principal, actor, trigger, word, source, target, change)
    SELECT c ->> 'path', c ->> 'kind', coalesce(m ->> 'operation', c ->> 'operation', c ->> 'was')::uuid,
           c ->> 'principal', m ->> 'actor', m ->> 'trigger', m ->> 'on', m ->> 'source', m ->> 'target',
           coalesce(m -> 'change', '{}')
      FROM jsonb_array_elements(c -> 'moves') m;

    FOR ended IN SELECT value FROM jsonb_array_elements(coalesce(c -> 'ended', '[]')) LOOP
        WITH gone AS (DELETE FROM operations WHERE id = (ended ->> 'id')::uuid RETURNING *)
        INSERT INTO ended_operations
        SELECT gone.id, action, kind, path, gone.principal, reason, request, total, 0,
               CASE WHEN ended ->> 'outcome' = 'done' THEN 0 ELSE 1 END, created_at, ended ->> 'outcome', now()
          FROM gone;
        DELETE FROM claims WHERE operation = (ended ->> 'id')::uuid;
    END LOOP;

    RETURN jsonb_build_object('id', this_id, 'order', new_order);
END $$;

-- Shared on every ancestor, exclusive on the path (shared for a use), in one order for everybody.
CREATE OR REPLACE FUNCTION lock_paths(taking jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    spot record;
BEGIN
    FOR spot IN
        SELECT path, bool_or(exclusive) AS exclusive FROM (
            SELECT t ->> 'path' AS path, t ->> 'mode' = 'x' AS exclusive FROM jsonb_array_elements(taking) t
            UNION ALL
            SELECT unnest(ancestors_of(t ->> 'path')), false FROM jsonb_array_elements(taking) t
        ) spots GROUP BY path ORDER BY path COLLATE "C"
    LOOP
        IF spot.exclusive THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(spot.path, 0));
        ELSE
            PERFORM pg_advisory_xact_lock_shared(hashtextextended(spot.path, 0));
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ancestors_of(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(CASE WHEN n = 0 THEN '/' ELSE '/' || array_to_string(parts[1:n], '/') END)
      FROM (SELECT string_to_array(substr(path, 2), '/') AS parts) p,
           generate_series(0, cardinality(parts) - 1) n
$$;

-- Whoever has a claim in the way of these, `except_for` apart: an exclusive one above, or any on the path or below it.
-- It sees what its caller sees: beside a row that is read, the claims of the same instant; in `commit_change`, where
-- every statement sees anew, what was committed before the locks were granted.
CREATE OR REPLACE FUNCTION holder_of(taking jsonb, except_for uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    t    jsonb;
    held record;
BEGIN
    FOR t IN SELECT value FROM jsonb_array_elements(taking) LOOP
        SELECT h.path, h.operation, o.action, o.principal, o.created_at INTO held
          FROM (
            SELECT * FROM claims WHERE path = ANY (ancestors_of(t ->> 'path')) AND mode = 'x'
            UNION ALL
            SELECT * FROM claims WHERE path = t ->> 'path' AND (mode = 'x' OR t ->> 'mode' = 'x')
            UNION ALL
            SELECT * FROM claims
             WHERE t ->> 'mode' = 'x'
               AND path > rtrim(t ->> 'path', '/') || '/' AND path < rtrim(t ->> 'path', '/') || '0'
          ) h LEFT JOIN operations o ON o.id = h.operation
         WHERE h.operation IS DISTINCT FROM except_for
         LIMIT 1;
        IF FOUND THEN
            RETURN jsonb_build_object('operation', held.operation, 'action', held.action, 'path', held.path,
                                      'by', held.principal, 'since', held.created_at);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
