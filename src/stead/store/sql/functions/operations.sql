-- Operations: what stands in the way of one, its beginning, the members it asks, and its end.

-- What stands in the way of an operation that is to begin: the same key, others in its queue, somebody's claim; or what
-- lies around it is not what it was decided on. With the claims seen to, what is above it and below it is what it is.
-- With `over`, what goes on below is no obstacle, nor is what runs beside others.
CREATE OR REPLACE FUNCTION find_conflict(begins jsonb, taking jsonb, own uuid, around jsonb, over boolean) RETURNS jsonb
LANGUAGE plpgsql AS $$
DECLARE
    known  idempotency_keys%ROWTYPE;
    holder jsonb;
    under  uuid[] := ARRAY(SELECT jsonb_array_elements_text(begins -> 'request' -> 'under')::uuid);
    ways   jsonb := taking;
BEGIN
    IF begins ? 'key' THEN
        SELECT * INTO known FROM idempotency_keys
         WHERE principal = begins ->> 'principal' AND key = begins ->> 'key';
        IF FOUND THEN
            RETURN jsonb_build_object('conflict', 'key', 'operation', known.operation,
                                      'same', known.fingerprint = begins ->> 'fingerprint');
        END IF;
    END IF;
    IF begins ? 'queue' THEN
        IF begins ? 'waited' THEN
            PERFORM FROM queued w WHERE w.operation = (begins ->> 'id')::uuid FOR UPDATE;
            IF NOT FOUND THEN  -- somebody else has begun it, or it was cancelled
                RETURN jsonb_build_object('conflict', 'gone');
            END IF;
        ELSIF EXISTS (SELECT FROM queued w WHERE w.queue = begins ->> 'queue')
           OR is_queue_busy(begins ->> 'queue', begins ->> 'path') THEN
            RETURN jsonb_build_object('conflict', 'queue');
        END IF;
    END IF;
    IF taking IS NOT NULL THEN
        -- What an operation has already is not in its own way, nor is what those have in whose course it was asked for.
        IF over THEN
            under := under || ARRAY(SELECT o.id FROM claims c, operations o, jsonb_array_elements(taking) t
                                     WHERE c.path = t ->> 'path' AND o.id = c.operation AND o.request ? 'place');
            ways := (SELECT jsonb_agg(t || '{"mode": "i"}') FROM jsonb_array_elements(taking) t);
        END IF;
        holder := find_holder(ways, own, under);
        IF holder IS NOT NULL THEN
            RETURN jsonb_build_object('conflict', 'claim', 'holder', holder);
        END IF;
    END IF;
    IF around ? 'mark' AND around ->> 'mark' <> tree_revision(around ->> 'place') THEN
        RETURN jsonb_build_object('conflict', 'changed');
    END IF;
    -- Of what there is a quota, one at a time is taken.
    PERFORM FROM quotas q, jsonb_array_elements(taking) t
      WHERE around ? 'makes' AND q.path = ANY (ancestors_of(t ->> 'path')) ORDER BY q.path, q.what FOR UPDATE OF q;
    -- What is named is nobody's to claim: whoever changes it at this moment is waited for.
    PERFORM FROM resources r, jsonb_array_elements(around -> 'beside') b
      WHERE r.path = b ->> 'path' ORDER BY r.path FOR SHARE OF r;
    IF EXISTS (SELECT FROM jsonb_array_elements(around -> 'above') a
                WHERE NOT EXISTS (SELECT FROM resources r WHERE r.path = a ->> 'path' AND a -> 'states' ? r.state))
       OR EXISTS (SELECT FROM jsonb_array_elements(around -> 'beside') b
                   WHERE NOT EXISTS (SELECT FROM resources r WHERE r.path = b ->> 'path' AND b -> 'states' ? r.state))
       OR (around ? 'makes'
           AND EXISTS (SELECT FROM jsonb_array_elements(taking) t,
                                   check_quotas(around -> 'makes' ->> 'kind', t ->> 'path', around -> 'makes' -> 'spec') r
                        WHERE r.used + r.wanted > r.most))
       OR ((around ->> 'vacant')::boolean
           AND EXISTS (SELECT FROM jsonb_array_elements(taking) t, list_machines_on(t ->> 'path')))
       OR ((around ->> 'empty')::boolean
           AND EXISTS (SELECT FROM resources r, jsonb_array_elements(taking) t
                        WHERE r.path > (t ->> 'path') || '/' AND r.path < (t ->> 'path') || '0')) THEN
        RETURN jsonb_build_object('conflict', 'version');
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION start_operations(begins jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO operations (id, action, kind, path, principal, reason, request)
    SELECT (b ->> 'id')::uuid, b ->> 'action', b ->> 'kind', b ->> 'path', b ->> 'principal', b ->> 'reason', b -> 'request'
      FROM unnest(begins) b;
    DELETE FROM queued w USING unnest(begins) b WHERE b ? 'waited' AND w.operation = (b ->> 'id')::uuid;
    UPDATE queues q SET running = (b ->> 'id')::uuid FROM unnest(begins) b WHERE b ? 'waited' AND q.path = b ->> 'queue';
    INSERT INTO idempotency_keys (principal, key, fingerprint, operation)
    SELECT b ->> 'principal', b ->> 'key', b ->> 'fingerprint', (b ->> 'id')::uuid
      FROM unnest(begins) b WHERE b ? 'key';
END $$;

-- Why an operation ended as it did, where no error was reported; empty where it did what was asked.
CREATE OR REPLACE FUNCTION reason_of_outcome(outcome text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE outcome
           WHEN 'succeeded' THEN ''
           WHEN 'failed' THEN 'the agent reported a failure and gave no reason'
           WHEN 'rolled_back' THEN 'it was rolled back'
           WHEN 'unknown' THEN 'no report arrived, and no observation showed what became of it'
           WHEN 'preempted' THEN 'an operation that outranks it took over'
           WHEN 'cancelled' THEN 'it was cancelled'
           WHEN 'rejected' THEN 'it could not begin when its turn came'
           ELSE outcome END
$$;

-- The same of an operation that is known by more: of a group, how many members failed or ended otherwise, and why one of
-- them did.
CREATE OR REPLACE FUNCTION reason_of_operation(op uuid, outcome text, members bigint, failures bigint) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
    first record;
    ends  text;
BEGIN
    IF outcome <> 'succeeded' AND failures > 0 AND members > 0 THEN
        SELECT m.path, m.outcome, m.says INTO first FROM operation_members m
         WHERE m.operation = op AND m.outcome NOT IN ('skipped', 'unchanged') ORDER BY m.says = '', m.path LIMIT 1;
        IF FOUND THEN
            SELECT string_agg(format('%s %s', c.number, c.outcome), ', ' ORDER BY c.number DESC, c.outcome) INTO ends
              FROM (SELECT m.outcome, count(*) AS number FROM operation_members m
                     WHERE m.operation = op AND m.outcome NOT IN ('skipped', 'unchanged') GROUP BY m.outcome) c
            HAVING bool_or(c.outcome <> 'failed');
            RETURN format('%s of %s members %s; %s: %s', failures, members,
                          coalesce('did not do it (' || ends || ')', 'failed'), first.path,
                          coalesce(nullif(first.says, ''), reason_of_outcome(first.outcome)));
        END IF;
    END IF;
    RETURN reason_of_outcome(outcome);
END $$;

-- Ends operations of resources, and counts members of operations above them: of the one that asked the member, and of
-- those that wait for it because the member had joined. Answers with the paths of groups whose last member this was:
-- `remaining` reaches zero once, whoever else counts at the same time.
CREATE OR REPLACE FUNCTION end_operations(works pending_change[], ts decision_template[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    recount    text[];
    joins      boolean := EXISTS (SELECT FROM operation_waits);
    its_ops    uuid[];  -- operations that count a member, and beside each of them:
    its_paths  text[];
    its_ends   text[];
    its_errors text[];
    its_joins  uuid[];  -- where the operation waited for the member, the one that the member had joined
BEGIN
    WITH said AS MATERIALIZED (
        SELECT CASE e ->> 'of' WHEN 'hidden' THEN w.hidden WHEN 'new' THEN (ts[w.t]).new ELSE w.operation END AS operation, w.path,
               e ->> 'outcome' AS outcome,
               CASE WHEN e ->> 'outcome' = 'preempted' AND (ts[w.t]).start_operation ? 'action'
                    THEN format('%s by %s took over', (ts[w.t]).start_operation ->> 'action', (ts[w.t]).start_operation ->> 'principal')
                    ELSE coalesce(w.told ->> 'error', '') END AS error
          FROM unnest(works) w, jsonb_array_elements((ts[w.t]).end_operations) e
    ), gone AS (
        DELETE FROM operations o USING said WHERE o.id = said.operation AND o.path = said.path
        RETURNING o.*, said.outcome, said.error
    ), released AS (
        DELETE FROM claims c USING gone WHERE c.operation = gone.id
    ), unasked AS (  -- whoever was not asked yet is not asked any more
        DELETE FROM expansions e USING gone WHERE e.operation = gone.id
    ), unwaited AS (
        DELETE FROM operation_waits q USING gone WHERE joins AND q.operation = gone.id
    )
    INSERT INTO ended_operations (id, action, kind, path, principal, reason, request, total, remaining, failed,
                                  created_at, outcome, ended_at, says, orders)
    SELECT id, action, kind, path, principal, reason, request, total, 0,
           CASE WHEN outcome = 'succeeded' THEN failed ELSE greatest(failed, 1) END, created_at, outcome, now(),
           CASE WHEN outcome = 'succeeded' THEN '' WHEN error <> '' THEN error WHEN says <> '' THEN says
                ELSE reason_of_operation(id, outcome, total, failed) END, orders
      FROM gone;

    -- Members are locked from before this until they have settled, so no operation begins to wait for one meanwhile.
    WITH said AS MATERIALIZED (
        SELECT CASE e ->> 'of' WHEN 'hidden' THEN w.hidden ELSE w.operation END AS operation, w.path,
               e ->> 'outcome' AS outcome, coalesce(w.told ->> 'error', '') AS error
          FROM unnest(works) w, jsonb_array_elements((ts[w.t]).end_operations) e WHERE e ->> 'of' IN ('operation', 'hidden')
    )
    SELECT array_agg(f.operation), array_agg(f.path), array_agg(f.outcome), array_agg(f.error), array_agg(f.joined)
      INTO its_ops, its_paths, its_ends, its_errors, its_joins
      FROM (SELECT s.*, NULL::uuid AS joined FROM said s
            UNION ALL
            SELECT q.operation, s.path, s.outcome, s.error, q.joined FROM said s
              JOIN operation_waits q ON joins AND q.joined = s.operation AND q.path = s.path) f;
    IF its_ops IS NULL THEN
        RETURN '{}';
    END IF;
    PERFORM FROM operations o WHERE o.id = ANY (ARRAY(SELECT DISTINCT unnest(its_ops))) ORDER BY o.id FOR UPDATE;
    IF joins THEN
        DELETE FROM operation_waits q USING unnest(its_ops, its_paths, its_joins) s (operation, path, joined)
         WHERE q.joined = s.joined AND q.path = s.path AND q.operation = s.operation;
    END IF;
    WITH said AS MATERIALIZED (
        SELECT * FROM unnest(its_ops, its_paths, its_ends, its_errors) s (operation, path, outcome, error)
    ), failed AS (
        INSERT INTO operation_members (operation, path, outcome, says)
        SELECT s.operation, s.path, s.outcome, coalesce(nullif(s.error, ''), reason_of_outcome(s.outcome)) FROM said s
          JOIN operations o ON o.id = s.operation AND o.path <> s.path
         WHERE s.outcome <> 'succeeded'
        ON CONFLICT (operation, path) DO UPDATE SET outcome = EXCLUDED.outcome,
            says = CASE WHEN EXCLUDED.says = reason_of_outcome(EXCLUDED.outcome) AND operation_members.says <> ''
                        THEN operation_members.says ELSE EXCLUDED.says END
    ), counted AS (
        UPDATE operations o SET remaining = o.remaining - c.members, failed = o.failed + c.failures
          FROM (SELECT s.operation, count(*) AS members, count(*) FILTER (WHERE s.outcome <> 'succeeded') AS failures
                  FROM said s GROUP BY s.operation ORDER BY s.operation) c
         WHERE o.id = c.operation
        RETURNING o.path, o.remaining, o.expanded
    )
    SELECT array_agg(path) INTO recount FROM counted WHERE remaining = 0 AND expanded;
    RETURN coalesce(recount, '{}');
END $$;

-- Operations on groups begin to ask their members, or to cancel what they asked of them: then whoever was not asked yet
-- is not asked any more, and counts as one that did not do it.
CREATE OR REPLACE FUNCTION start_expansions(works pending_change[], ts decision_template[]) RETURNS uuid[] LANGUAGE plpgsql AS $$
DECLARE
    begun uuid[];
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT CASE (ts[w.t]).claim WHEN 'beside' THEN (ts[w.t]).new ELSE w.now_op END AS operation, w.path,
               (ts[w.t]).expand_members AS asks FROM unnest(works) w
         WHERE (ts[w.t]).expand_members IS NOT NULL
    ), asking AS (
        INSERT INTO expansions (operation, path, member, after, request)
        SELECT operation, path, asks ->> 'member', '', asks FROM wanted
        ON CONFLICT (operation) DO UPDATE SET after = '', request = EXCLUDED.request, turn = expansions.turn + 1, at = now()
        RETURNING operation, turn, request ? 'cancels' AS cancels
    ), counted AS (
        UPDATE operations o SET expanded = false, total = CASE WHEN a.cancels THEN o.total ELSE 0 END,
               remaining = CASE WHEN a.cancels THEN o.remaining ELSE 0 END,
               failed = CASE WHEN a.cancels THEN o.failed + (a.turn > 0)::int ELSE 0 END
          FROM asking a WHERE o.id = a.operation
        RETURNING o.id
    )
    SELECT array_agg(id) INTO begun FROM counted;
    RETURN begun;
END $$;

-- An operation on a group has asked some more of its members, or all. It waits for those that act on it, and for those
-- that joined an operation in progress; if that one has ended since, it is asked anew.
CREATE OR REPLACE FUNCTION expand_operation(expands jsonb) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    this   operations%ROWTYPE;
    asks   constant uuid := (expands ->> 'operation')::uuid;
    waits  bigint := 0;
BEGIN
    INSERT INTO operation_members (operation, path, outcome, says)
    SELECT asks, s ->> 'path', coalesce(s ->> 'outcome', 'skipped'), s ->> 'says' FROM jsonb_array_elements(expands -> 'skipped') s
    ON CONFLICT DO NOTHING;
    UPDATE expansions SET after = expands ->> 'after', at = now()
     WHERE operation = asks AND turn = (expands ->> 'turn')::int
       AND (after < expands ->> 'after' OR (expands ->> 'done')::boolean);
    IF NOT FOUND THEN
        RAISE EXCEPTION 'too late' USING ERRCODE = 'ST001';
    END IF;
    IF jsonb_array_length(expands -> 'joined') > 0 THEN  -- their rows are locked: see commit_changes
        IF EXISTS (SELECT FROM jsonb_array_elements(expands -> 'joined') j WHERE NOT EXISTS (
                       SELECT FROM resources r WHERE r.id = (j ->> 'id')::bigint AND r.operation = (j ->> 'operation')::uuid)) THEN
            RAISE EXCEPTION 'too late' USING ERRCODE = 'ST001';
        END IF;
        INSERT INTO operation_waits (operation, path, joined)
        SELECT asks, r.path, r.operation FROM jsonb_array_elements(expands -> 'joined') j
          JOIN resources r ON r.id = (j ->> 'id')::bigint
         WHERE r.operation <> asks  -- a member that acts on this very operation is counted
        ON CONFLICT DO NOTHING;
        GET DIAGNOSTICS waits = ROW_COUNT;
    END IF;
    UPDATE operations SET total = total + waits + (expands ->> 'acting')::bigint,
                          remaining = remaining + waits + (expands ->> 'acting')::bigint,
                          failed = failed + coalesce((expands ->> 'failed')::bigint, 0),
                          expanded = (expands ->> 'done')::boolean,
                          orders = orders + (expands ->> 'orders')::bigint
     WHERE id = asks
    RETURNING * INTO this;
    IF this.expanded THEN
        DELETE FROM expansions WHERE operation = this.id;
    END IF;
    RETURN CASE WHEN this.expanded AND this.remaining = 0 THEN ARRAY[this.path] ELSE '{}' END;
END $$;
