-- Queues: requests that wait their turn. Rows are locked in one order everywhere: of `queued`, of resources, of `queues`.

-- Whether something keeps those who wait for a path from leaving a queue that they share with others: whoever left it
-- last is still under way, or the object whose queue it is. What goes on at the path itself is for `decide` to judge.
CREATE OR REPLACE FUNCTION is_queue_busy(which text, own text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM queues q JOIN operations o ON o.id = q.running WHERE q.path = which AND o.path <> own)
        OR (own <> which AND EXISTS (SELECT FROM claims c WHERE c.path = which AND c.mode = 'x'))
$$;

CREATE OR REPLACE FUNCTION queue_position(waits queued) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM queued w WHERE w.queue = waits.queue AND (w.turn, w.operation) <= (waits.turn, waits.operation)
$$;

-- The last of its queue from now on. The row of the queue is locked first, so turns are given in the order of arrival.
CREATE OR REPLACE FUNCTION enqueue(what jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stops   boolean;
    refused jsonb := CASE WHEN what ? 'uses' THEN find_denied_lanes(what -> 'uses') END;
    known   idempotency_keys%ROWTYPE;
    mine    queued%ROWTYPE;
BEGIN
    IF refused IS NOT NULL THEN
        RETURN refused;
    END IF;
    INSERT INTO queues (path) VALUES (what ->> 'queue')
    ON CONFLICT (path) DO UPDATE SET path = EXCLUDED.path RETURNING stopping INTO stops;
    IF stops THEN
        RETURN jsonb_build_object('conflict', 'stopping');
    END IF;
    IF what ? 'key' THEN
        INSERT INTO idempotency_keys (principal, key, fingerprint, operation)
        VALUES (what ->> 'principal', what ->> 'key', what ->> 'fingerprint', (what ->> 'operation')::uuid)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            SELECT * INTO known FROM idempotency_keys k WHERE k.principal = what ->> 'principal' AND k.key = what ->> 'key';
            RETURN jsonb_build_object('conflict', 'key', 'operation', known.operation,
                                      'same', known.fingerprint = what ->> 'fingerprint');
        END IF;
    END IF;
    INSERT INTO queued (operation, queue, path, kind, action, principal, actor, reason, request)
    VALUES ((what ->> 'operation')::uuid, what ->> 'queue', what ->> 'path', what ->> 'kind', what ->> 'action',
            what ->> 'principal', what ->> 'actor', what ->> 'reason', what -> 'request')
    RETURNING * INTO mine;
    PERFORM record_queued(mine, mine.principal, mine.actor, 'queued', '{}');
    RETURN jsonb_build_object('position', queue_position(mine));
END $$;

-- The journal's line about one that waits; the resource stays as it is.
CREATE OR REPLACE FUNCTION record_queued(waits queued, who text, as_actor text, what text, more jsonb) RETURNS void LANGUAGE sql AS $$
    INSERT INTO journal (path, kind, operation, principal, actor, trigger, word, source, target, change, refused)
    SELECT waits.path, waits.kind, waits.operation, who, as_actor, what, waits.action, coalesce(r.state, ''),
           coalesce(r.state, ''), jsonb_build_object('queue', waits.queue) || more, (what = 'rejected')::int
      FROM (SELECT) one LEFT JOIN resources r ON r.path = waits.path
$$;

-- One that waits ends without having begun: cancelled, refused, or done where there was nothing to do.
CREATE OR REPLACE FUNCTION leave_queue(id uuid, how text, why jsonb, who text, as_actor text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    mine queued%ROWTYPE;
BEGIN
    DELETE FROM queued w WHERE w.operation = id RETURNING * INTO mine;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO ended_operations (id, action, kind, path, principal, reason, request, remaining, failed, created_at,
                                  outcome, reasons, says)
    VALUES (mine.operation, mine.action, mine.kind, mine.path, mine.principal, mine.reason, mine.request, 0,
            (how <> 'succeeded')::int, mine.created_at, how, why, coalesce(why -> 0 ->> 'says', reason_of_outcome(how)));
    PERFORM record_queued(mine, who, as_actor, CASE how WHEN 'cancelled' THEN 'cancel' ELSE how END,
                        CASE how WHEN 'rejected' THEN jsonb_build_object('reasons', why) ELSE '{}' END);
    PERFORM close_queue(mine.queue);
    RETURN true;
END $$;

-- Takes a queue away that takes nothing more, once all that was in it is carried out.
CREATE OR REPLACE FUNCTION close_queue(which text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM queues q WHERE q.path = which AND q.stopping FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM queues q
     WHERE q.path = which AND NOT EXISTS (SELECT FROM queued w WHERE w.queue = which)
       AND NOT EXISTS (SELECT FROM operations o WHERE o.id = q.running);
    RETURN FOUND;
END $$;

-- The queues in which somebody waits for what a commit has ended. That of an object that is gone for good stops.
CREATE OR REPLACE FUNCTION list_freed_queues(works pending_change[], ts decision_template[]) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
    found text[];
BEGIN
    UPDATE queues q SET stopping = true FROM unnest(works) w WHERE q.path = w.path AND (ts[w.t]).is_gone AND NOT q.stopping;
    SELECT array_agg(DISTINCT left_by.queue) INTO found FROM (
        SELECT q.queue FROM unnest(works) w JOIN queued q ON q.path = w.path
        UNION ALL
        SELECT q.queue FROM unnest(works) w JOIN queued q ON q.queue = w.path
        UNION ALL
        SELECT q.path FROM unnest(works) w JOIN queues q ON q.path = w.path AND q.stopping
        UNION ALL
        SELECT q.path FROM unnest(works) w JOIN queues q ON q.running = w.operation
        UNION ALL
        SELECT q.path FROM unnest(works) w JOIN queues q ON q.running = w.hidden
        UNION ALL
        SELECT q.path FROM unnest(works) w JOIN queues q ON q.running = (ts[w.t]).new
    ) left_by;
    RETURN coalesce(found, '{}');
END $$;
