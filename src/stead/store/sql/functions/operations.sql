-- Operations: what stands in the way of one, its beginning, the members it asks, and its end.

-- What stands in the way of an operation that is to begin: the same key, or somebody's claim.
CREATE FUNCTION meets(begins jsonb, taking jsonb, own uuid) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    known  idempotency_keys%ROWTYPE;
    holder jsonb;
BEGIN
    IF begins ? 'key' THEN
        SELECT * INTO known FROM idempotency_keys
         WHERE principal = begins ->> 'principal' AND key = begins ->> 'key';
        IF FOUND THEN
            RETURN jsonb_build_object('conflict', 'key', 'operation', known.operation,
                                      'same', known.fingerprint = begins ->> 'fingerprint');
        END IF;
    END IF;
    IF taking IS NOT NULL THEN
        PERFORM lock_paths(taking);
        holder := holder_of(taking, own);  -- what an operation has already is not in its own way
        IF holder IS NOT NULL THEN
            RETURN jsonb_build_object('conflict', 'claim', 'holder', holder);
        END IF;
    END IF;
    RETURN NULL;
END $$;

CREATE FUNCTION begin_operation(begins jsonb) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations (id, action, kind, path, principal, reason, request)
    VALUES ((begins ->> 'id')::uuid, begins ->> 'action', begins ->> 'kind', begins ->> 'path',
            begins ->> 'principal', begins ->> 'reason', begins -> 'request');
    IF begins ? 'key' THEN
        INSERT INTO idempotency_keys (principal, key, fingerprint, operation)
        VALUES (begins ->> 'principal', begins ->> 'key', begins ->> 'fingerprint', (begins ->> 'id')::uuid);
    END IF;
END $$;

-- Ends operations of resources, and counts members of operations above them. Answers with the paths of groups whose
-- last member this was: `remaining` reaches zero once, whoever else counts at the same time.
CREATE FUNCTION end_operations(works work[], ts template[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    recount text[];
BEGIN
    WITH said AS (
        SELECT CASE e ->> 'of' WHEN 'hidden' THEN w.hidden WHEN 'new' THEN (ts[w.t]).new ELSE w.operation END AS operation, w.path,
               e ->> 'outcome' AS outcome
          FROM unnest(works) w, jsonb_array_elements((ts[w.t]).ends) e
    ), gone AS (
        DELETE FROM operations o USING said WHERE o.id = said.operation AND o.path = said.path
        RETURNING o.*, said.outcome
    ), released AS (
        DELETE FROM claims c USING gone WHERE c.operation = gone.id
    )
    INSERT INTO ended_operations (id, action, kind, path, principal, reason, request, total, remaining, failed,
                                  created_at, outcome, ended_at)
    SELECT id, action, kind, path, principal, reason, request, total, 0,
           CASE WHEN outcome = 'done' THEN failed ELSE greatest(failed, 1) END, created_at, outcome, now()
      FROM gone;

    PERFORM FROM operations o WHERE o.id IN (
        SELECT w.operation FROM unnest(works) w, jsonb_array_elements((ts[w.t]).ends) e WHERE e ->> 'of' = 'operation')
      ORDER BY o.id FOR UPDATE;
    WITH said AS (
        SELECT w.operation, w.path, e ->> 'outcome' AS outcome, w.told
          FROM unnest(works) w, jsonb_array_elements((ts[w.t]).ends) e WHERE e ->> 'of' = 'operation'
    ), failed AS (
        INSERT INTO operation_members (operation, path, outcome, says)
        SELECT s.operation, s.path, s.outcome, coalesce(s.told ->> 'error', '') FROM said s
          JOIN operations o ON o.id = s.operation AND o.path <> s.path
         WHERE s.outcome <> 'done'
        ON CONFLICT DO NOTHING
    ), counted AS (
        UPDATE operations o SET remaining = o.remaining - c.members, failed = o.failed + c.failures
          FROM (SELECT s.operation, count(*) AS members, count(*) FILTER (WHERE s.outcome <> 'done') AS failures
                  FROM said s GROUP BY s.operation ORDER BY s.operation) c
         WHERE o.id = c.operation
        RETURNING o.path, o.remaining, o.expanded
    )
    SELECT array_agg(path) INTO recount FROM counted WHERE remaining = 0 AND expanded;
    RETURN coalesce(recount, '{}');
END $$;

-- An operation on a group has asked some more of its members, or all.
CREATE FUNCTION expand_operation(expands jsonb) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    this operations%ROWTYPE;
BEGIN
    INSERT INTO operation_members (operation, path, outcome, says)
    SELECT (expands ->> 'operation')::uuid, s ->> 'path', 'skipped', s ->> 'says'
      FROM jsonb_array_elements(expands -> 'skipped') s
    ON CONFLICT DO NOTHING;
    UPDATE operations SET total = total + (expands ->> 'acting')::bigint,
                          remaining = remaining + (expands ->> 'acting')::bigint,
                          expanded = (expands ->> 'done')::boolean
     WHERE id = (expands ->> 'operation')::uuid AND NOT expanded
    RETURNING * INTO this;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'too late' USING ERRCODE = 'ST001';
    END IF;
    IF this.expanded THEN
        DELETE FROM expansions WHERE operation = this.id;
        RETURN CASE WHEN this.remaining = 0 THEN ARRAY[this.path] ELSE '{}' END;
    END IF;
    UPDATE expansions SET after = expands ->> 'after', at = now() WHERE operation = this.id AND after < expands ->> 'after';
    IF NOT FOUND THEN
        RAISE EXCEPTION 'too late' USING ERRCODE = 'ST001';
    END IF;
    RETURN '{}';
END $$;
