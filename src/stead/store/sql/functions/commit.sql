-- Decided changes, written by sets. What many resources have in common stands in a template; what tells them apart
-- stands in arrays beside it, one element for each resource. What was read may have changed since: each resource comes
-- with the version it was decided on, and one that comes too late is answered with a conflict and written nowhere.
--
-- Plans are kept from when the tables were small, so nothing but look-ups by index is allowed in here.
--
-- A function of several statements, because a check must see what was committed before its lock was granted, and one
-- statement sees only what was there when it began.

CREATE OR REPLACE FUNCTION commit_changes(
    templates jsonb, template_numbers integer[], ids bigint[], versions bigint[], own jsonb, at float8, expands jsonb,
    batch integer
) RETURNS jsonb LANGUAGE plpgsql
  SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
  SET jit = off AS $$
DECLARE
    ts        decision_template[];
    extras    jsonb[] := ARRAY(SELECT value FROM jsonb_array_elements(own));
    works     pending_change[];
    conflicts jsonb := '[]';
    bad       bigint[] := '{}';
    m         record;
    stands    jsonb;
    taking    jsonb;
    using_    jsonb[];
    numbers   bigint[];
    granted   bigint[] := '{}';
    recount   text[] := '{}';
    expanding uuid[] := '{}';
    caps      jsonb;
    waiting   text[] := '{}';
    freed     text[];
    turns     text[] := '{}';
    patience  constant float8 := 86400;  -- seconds that an order may wait for room
    whole     boolean := expands IS NOT NULL;
    ages      jsonb := '{}';
    held_cell boolean := EXISTS (SELECT FROM cell WHERE held_since IS NOT NULL);
BEGIN
    SELECT array_agg(x ORDER BY n) INTO ts
      FROM jsonb_array_elements(templates) WITH ORDINALITY AS e (x_json, n),
           LATERAL jsonb_populate_record(NULL::decision_template, x_json) x;
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.kind IN ('lease', 'reservation')) THEN
        PERFORM set_config('stead.at', at::text, true);  -- their triggers go by it
    END IF;
    IF EXISTS (SELECT FROM unnest(ts) x JOIN lifecycles l ON l.kind = x.kind) THEN
        PERFORM check_lifecycles(ts);
    END IF;

    -- Keys, turns and claims. All that are wanted are locked together, in one order for everybody; nobody here stands in
    -- the way of another.
    SELECT jsonb_agg(taken) INTO taking
      FROM unnest(template_numbers, extras) AS u (t, extra), jsonb_array_elements(u.extra -> 'take') taken
     WHERE (ts[u.t]).claim IN ('take', 'beside', 'over');
    -- Lanes: whoever takes one away from a namespace waits for this lock, so what is found here holds until the end.
    SELECT array_agg(DISTINCT e -> 'uses') INTO using_ FROM unnest(extras) e WHERE e ? 'uses';
    IF using_ IS NOT NULL THEN
        taking := coalesce(taking, '[]') || (
            SELECT jsonb_agg(jsonb_build_object('path', '/' || (u ->> 'of'), 'mode', 'i')) FROM unnest(using_) u);
    END IF;
    IF taking IS NOT NULL THEN
        PERFORM lock_paths(taking);
    END IF;
    IF using_ IS NOT NULL THEN
        FOR m IN SELECT u.uses, r.refused FROM unnest(using_) AS u (uses), LATERAL (SELECT find_denied_lanes(u.uses)) AS r (refused)
                  WHERE r.refused IS NOT NULL
        LOOP
            SELECT conflicts || jsonb_agg(m.refused || jsonb_build_object('n', n)), bad || array_agg(n) INTO conflicts, bad
              FROM unnest(extras) WITH ORDINALITY AS e (extra, n) WHERE extra -> 'uses' = m.uses;
        END LOOP;
    END IF;
    FOR m IN
        SELECT u.n, u.extra, x.start_operation, x.claim, coalesce(r.hidden, r.operation) AS own
          FROM unnest(template_numbers, ids, extras) WITH ORDINALITY AS u (t, id, extra, n)
          JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = u.t LEFT JOIN resources r ON r.id = u.id
         WHERE (x.claim IN ('take', 'beside', 'over') OR x.start_operation ?| ARRAY['key', 'queue']) AND u.n <> ALL (bad)
    LOOP
        stands := find_conflict(m.start_operation, CASE WHEN m.claim <> 'hands' THEN m.extra -> 'take' END, m.own, m.extra -> 'around',
                        m.claim = 'over');
        IF stands IS NOT NULL THEN
            conflicts := conflicts || (stands || jsonb_build_object('n', m.n));
            bad := bad || m.n;
        END IF;
    END LOOP;

    -- Members that joined what is in progress on them are not written, and do not settle before it is: an operation waits
    -- for them. They are locked together with the others, in one order.
    IF jsonb_array_length(expands -> 'joined') > 0 THEN
        PERFORM FROM resources r
          WHERE r.id = ANY (ids || ARRAY(SELECT (j ->> 'id')::bigint FROM jsonb_array_elements(expands -> 'joined') j))
          ORDER BY r.id FOR UPDATE;
    END IF;

    -- Those that are there, if they are still what they were.
    SELECT array_agg(ROW(w.n, w.t, w.id, w.path, w.lane, w.operation, w.hidden, w.order_id,
                         CASE x.operation WHEN 'same' THEN w.operation WHEN 'new' THEN x.new END,
                         CASE x.hidden WHEN 'same' THEN w.hidden WHEN 'new' THEN x.new END,
                         CASE WHEN x.resend THEN (w.timers - x.stop_timers) || delay_timers(x.start_timers, w.sends, at)
                              ELSE (w.timers - x.stop_timers) || x.start_timers END,
                         NULL, coalesce(w.had, false), NULL,
                         w.extra -> 'change',
                         w.extra)::pending_change ORDER BY w.id)
      INTO works
      FROM (SELECT u.n, u.t, u.extra, r.id, r.path, r.lane, r.operation, r.hidden, r.order_id, r.timers, r.sends,
                   CASE WHEN r.order_id IS NOT NULL AND (ts[u.t]).verb IS NOT NULL
                        THEN (SELECT o.granted FROM orders o WHERE o.id = r.order_id) END AS had
              FROM unnest(template_numbers, ids, versions, extras) WITH ORDINALITY AS u (t, id, version, extra, n)
              JOIN resources r ON r.id = u.id AND r.version = u.version
             WHERE u.n <> ALL (bad) ORDER BY r.id FOR UPDATE OF r) w
      JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = w.t;
    works := coalesce(works, '{}');

    -- Those that are not there yet.
    IF array_position(ids, NULL) IS NOT NULL AND NOT (whole AND cardinality(bad) > 0) THEN
        -- Each takes the place of what is gone for good, if that is still what was read.
        IF EXISTS (SELECT FROM unnest(extras) e WHERE e ? 'instead') THEN
            DELETE FROM resources r USING unnest(ids, extras) WITH ORDINALITY AS u (id, extra, n)
             WHERE u.id IS NULL AND u.n <> ALL (bad) AND r.id = (u.extra -> 'instead' ->> 'id')::bigint
               AND r.version = (u.extra -> 'instead' ->> 'version')::bigint AND r.operation IS NULL;
        END IF;
        INSERT INTO resources (path, kind, state, fence, lane, token, spec, revision)
        SELECT u.extra ->> 'path', (ts[u.t]).kind, '', (u.extra ->> 'fence')::bigint, u.extra ->> 'lane',
               (u.extra ->> 'token')::uuid, u.extra -> 'spec', (u.extra ->> 'fence')::bigint
          FROM unnest(template_numbers, ids, extras) WITH ORDINALITY AS u (t, id, extra, n)
         WHERE u.id IS NULL AND u.n <> ALL (bad) ORDER BY u.extra ->> 'path'
        ON CONFLICT (path) DO NOTHING;
        SELECT works || coalesce(array_agg(
                   ROW(u.n, u.t, f.id, f.path, f.lane, NULL, NULL, NULL, CASE x.operation WHEN 'new' THEN x.new END,
                       CASE x.hidden WHEN 'new' THEN x.new END, x.start_timers, NULL, false, NULL, u.extra -> 'change', u.extra)::pending_change
                   ORDER BY f.id), '{}')
          INTO works
          FROM unnest(template_numbers, ids, extras) WITH ORDINALITY AS u (t, id, extra, n)
          JOIN resources f ON u.id IS NULL AND f.path = u.extra ->> 'path' AND f.state = ''  -- none but the new ones
          JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = u.t;
    END IF;

    IF cardinality(works) < cardinality(template_numbers) THEN
        SELECT conflicts || coalesce(jsonb_agg(jsonb_build_object('n', n, 'conflict', 'version')), '[]') INTO conflicts
          FROM generate_series(1, cardinality(template_numbers)) n
         WHERE n <> ALL (bad) AND n NOT IN (SELECT w.n FROM unnest(works) w);
        IF whole THEN  -- all or nothing: what was written so far is taken back
            RAISE EXCEPTION 'too late' USING ERRCODE = 'ST001', DETAIL = conflicts::text;
        END IF;
    END IF;
    IF cardinality(works) = 0 AND NOT whole THEN
        RETURN jsonb_build_object('conflicts', conflicts);
    END IF;

    -- Orders get their numbers first, so that every resource is written once.
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.verb IS NOT NULL) THEN
        caps := lane_limits(works);
        numbers := ARRAY(SELECT nextval('orders_id_seq') FROM generate_series(1, cardinality(works)));
        SELECT array_agg(
                   ROW(p.n, p.t, p.id, p.path, p.lane, p.operation, p.hidden, p.order_id, p.now_op, p.now_hid,
                       CASE WHEN p.verb IS NULL OR p.free THEN p.timers
                            ELSE (p.timers - ARRAY(SELECT jsonb_object_keys(p.start_timers)))
                                 || jsonb_build_object('waiting', at + patience) END,
                       CASE WHEN p.verb IS NOT NULL THEN numbers[p.place] END, p.free,
                       CASE WHEN p.verb IS NOT NULL AND NOT p.free THEN shift_timers(p.start_timers, -at) END,
                       p.told, p.extra)::pending_change ORDER BY p.id)
          INTO works
          FROM (SELECT c.*, dense_rank() OVER (ORDER BY c.t, c.op, c.lane, c.held, c.free, c.chunk) AS place
                  FROM (SELECT w.*, (ts[w.t]).verb AS verb, (ts[w.t]).start_timers, coalesce(w.now_hid, w.now_op) AS op,
                               h.held, (w.granted OR NOT caps ? w.lane) AND NOT h.held AS free,
                               (row_number() OVER (PARTITION BY w.t, coalesce(w.now_hid, w.now_op), w.lane, w.granted, h.held
                                                   ORDER BY w.id) - 1)
                                   / least(batch, (caps ->> w.lane)::int) AS chunk
                          FROM unnest(works) w, LATERAL (
                              SELECT held_cell AND NOT is_observation_verb((ts[w.t]).verb) AND is_held(w.path) AS held) h) c) p;
    END IF;

    -- The resources themselves.
    UPDATE resources r SET
        state = x.state, condition = x.condition, fence = r.fence + x.fence_delta, version = r.version + 1,
        operation = w.now_op, hidden = w.now_hid,
        spec = CASE WHEN x.spec = 'next' THEN r.next_spec ELSE r.spec END,
        next_spec = CASE WHEN x.spec IS NULL THEN r.next_spec WHEN x.spec = 'set' THEN w.extra -> 'next' END,
        revision = CASE WHEN x.spec = 'next' THEN r.next_revision ELSE r.revision END,
        next_revision = CASE WHEN x.spec = 'set' THEN r.fence + x.fence_delta ELSE r.next_revision END,
        facts = CASE WHEN w.extra ? 'facts' THEN r.facts || (w.extra -> 'facts') ELSE r.facts END,
        timers = w.timers, due = CASE WHEN w.timers <> '{}' THEN earliest_timer(w.timers) END, observe_at = to_timestamp(x.observe_at),
        sends = CASE WHEN x.verb IS NULL THEN r.sends WHEN x.resend THEN least(r.sends + 1, 100) ELSE 0 END,
        waits = CASE WHEN w.new_order IS NOT NULL OR x.close_order THEN w.waits ELSE r.waits END,
        order_id = CASE WHEN w.new_order IS NOT NULL THEN w.new_order WHEN x.close_order THEN NULL ELSE r.order_id END,
        observed_at = CASE WHEN w.extra ? 'facts' THEN now() ELSE r.observed_at END,
        changed_at = CASE WHEN x.is_transition THEN now() ELSE r.changed_at END
      FROM unnest(works) w JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = w.t
     WHERE r.id = w.id;
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.delete_row) THEN
        DELETE FROM resources r USING unnest(works) w WHERE r.id = w.id AND (ts[w.t]).delete_row;
    END IF;

    -- Operations that begin, and claims.
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.start_operation IS NOT NULL) THEN
        PERFORM start_operations(ARRAY(SELECT (ts[w.t]).start_operation FROM unnest(works) w WHERE (ts[w.t]).start_operation IS NOT NULL));
    END IF;
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.expand_members IS NOT NULL) THEN
        expanding := start_expansions(works, ts);
    END IF;
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.claim IS NOT NULL) THEN
        UPDATE claims c SET operation = coalesce(w.now_hid, w.now_op) FROM unnest(works) w
         WHERE (ts[w.t]).claim = 'hands' AND c.operation = coalesce(w.hidden, w.operation);
        PERFORM end_concurrent(w.path, 'cancelled', (ts[w.t]).principal) FROM unnest(works) w WHERE (ts[w.t]).claim = 'over';
        INSERT INTO claims (path, mode, operation)
        SELECT taken ->> 'path', (taken ->> 'mode')::"char",
               CASE (ts[w.t]).claim WHEN 'beside' THEN (ts[w.t]).new ELSE coalesce(w.now_hid, w.now_op) END
          FROM unnest(works) w, jsonb_array_elements(w.extra -> 'take') taken
         WHERE (ts[w.t]).claim IN ('take', 'beside', 'over')
        ON CONFLICT (path, operation) DO UPDATE SET mode = 'x' WHERE EXCLUDED.mode = 'x' AND claims.mode <> 'x';
    END IF;

    -- Orders that are done with, taken, and given.
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.close_order OR x.verb IS NOT NULL OR x.delete_row) THEN
        -- An order that is sent anew, since no agent took it, is as old as it was.
        IF EXISTS (SELECT FROM unnest(ts) x WHERE x.resend) THEN
            SELECT coalesce(jsonb_object_agg(s.id, s.at), '{}') INTO ages FROM (
                SELECT w.new_order AS id, min(o.created_at) AS at FROM unnest(works) w JOIN orders o ON o.id = w.order_id
                 WHERE w.new_order IS NOT NULL AND (ts[w.t]).resend AND o.agent = '' GROUP BY w.new_order) s;
        END IF;
        WITH gone AS (
            SELECT w.order_id, count(*) AS members FROM unnest(works) w
             WHERE w.order_id IS NOT NULL AND ((ts[w.t]).close_order OR w.new_order IS NOT NULL OR (ts[w.t]).delete_row)
             GROUP BY w.order_id
        ), over AS (
            DELETE FROM orders o USING gone WHERE o.id = gone.order_id AND o.open <= gone.members
            RETURNING o.id
        )
        UPDATE orders o SET open = o.open - gone.members FROM gone
         WHERE o.id = gone.order_id AND o.open > gone.members;
        INSERT INTO orders (id, operation, lane, kind, verb, members, open, attempt, granted, held, turn, created_at)
        SELECT n.*, CASE WHEN n.granted THEN 0 ELSE
                        next_turn(n.lane, n.operation) + sum(n.open) OVER (PARTITION BY n.operation, n.lane ORDER BY n.id) END,
               coalesce((ages ->> n.id::text)::timestamptz, now())
          FROM (
        SELECT w.new_order AS id, min(coalesce(w.now_hid, w.now_op)::text)::uuid AS operation, min(w.lane) AS lane,
               min(x.kind) AS kind, min(x.verb) AS verb, array_agg(w.id ORDER BY w.id) AS members, count(*) AS open,
               min(x.attempt) AS attempt, bool_and(w.granted) AS granted,
               held_cell AND NOT is_observation_verb(min(x.verb)) AND bool_or(is_held(w.path)) AS held
          FROM unnest(works) w JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = w.t
         WHERE w.new_order IS NOT NULL GROUP BY w.new_order) n;
        SELECT coalesce(array_agg(DISTINCT w.new_order) FILTER (WHERE w.granted), '{}'),
               coalesce(array_agg(DISTINCT w.lane) FILTER (WHERE NOT w.granted), '{}')
          INTO granted, waiting FROM unnest(works) w WHERE w.new_order IS NOT NULL;
        -- Room that became free is given on at once.
        SELECT array_agg(lane) INTO freed FROM (
            SELECT DISTINCT w.lane FROM unnest(works) w
             WHERE w.order_id IS NOT NULL AND w.new_order IS NULL AND ((ts[w.t]).close_order OR (ts[w.t]).delete_row)
            OFFSET 0) left_by  -- each lane is asked for once
         WHERE has_waiting_orders(lane);
        IF freed IS NOT NULL THEN
            granted := granted || grant_orders(freed, at);
            waiting := waiting || lanes_with_free_slots(freed);
        END IF;
    END IF;
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.agent IS NOT NULL) THEN
        UPDATE orders o SET agent = d.agent, epoch = d.epoch
          FROM (SELECT DISTINCT w.order_id, (ts[w.t]).agent, (ts[w.t]).epoch FROM unnest(works) w
                 WHERE (ts[w.t]).take_order AND (ts[w.t]).agent IS NOT NULL) d
         WHERE o.id = d.order_id;
    END IF;

    -- The journal.
    INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change, origin, request)
    SELECT w.path, x.kind,
           CASE l.of WHEN 'none' THEN NULL WHEN 'was' THEN coalesce(w.hidden, w.operation)
                     WHEN 'hidden' THEN w.hidden WHEN 'operation' THEN w.operation
                     WHEN 'new' THEN x.new ELSE coalesce(w.now_op, w.operation, (x.start_operation ->> 'id')::uuid) END,
           x.principal, l.actor, l.trigger, l.detail, l.source, l.target,
           CASE WHEN l.last THEN coalesce(w.told, '{}') ELSE '{}' END, l.origin, l.request
      FROM unnest(works) w JOIN unnest(ts) WITH ORDINALITY AS x ON x.ordinality = w.t,
           LATERAL jsonb_to_recordset(CASE WHEN jsonb_array_length(x.journal_lines) > 0 OR w.told IS NULL THEN x.journal_lines
                                           ELSE x.unchanged_lines END)
               AS l (trigger text, detail text, actor text, source text, target text, "of" text, last boolean, origin text,
                     request text);

    -- What went wrong on the way is kept: what is undone ends well, and yet somebody wants to know why.
    IF EXISTS (SELECT FROM unnest(works) w WHERE w.told ? 'error') THEN
        UPDATE operations o SET says = w.told ->> 'error' FROM unnest(works) w
         WHERE o.id = w.now_op AND o.path = w.path AND w.told ? 'error';
        INSERT INTO operation_members (operation, path, outcome, says)
        SELECT o.id, w.path, 'rolling_back', w.told ->> 'error' FROM unnest(works) w
          JOIN operations o ON o.id = w.now_op AND o.path <> w.path
         WHERE w.told ? 'error'
        ON CONFLICT (operation, path) DO UPDATE SET says = EXCLUDED.says;
    END IF;

    -- Operations that end. One that is of this very resource is over; of one above it, a member is done.
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.end_operations IS NOT NULL) THEN
        recount := end_operations(works, ts);
    END IF;
    IF whole THEN
        recount := recount || expand_operation(expands || jsonb_build_object('orders', (
            SELECT count(DISTINCT w.new_order) FROM unnest(works) w)));
    END IF;

    -- Whoever waits for what has ended.
    IF EXISTS (SELECT FROM unnest(ts) x WHERE x.end_operations IS NOT NULL OR x.is_gone) AND EXISTS (SELECT FROM queues) THEN
        turns := list_freed_queues(works, ts);
    END IF;

    RETURN jsonb_build_object(
        'conflicts', conflicts, 'orders', order_messages(granted), 'recount', to_jsonb(recount),
        'expanding', to_jsonb(expanding), 'waiting', to_jsonb(waiting), 'queues', to_jsonb(turns));
END $$;
