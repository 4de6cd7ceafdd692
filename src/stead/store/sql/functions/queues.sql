-- Queues: requests that wait their turn. Rows are locked in one order everywhere: of `queued`, of resources, of `queues`.

-- Whether something keeps those who wait for a path from leaving a queue that they share with others: whoever left it
-- last is still under way, or the object whose queue it is. What goes on at the path itself is for `decide` to judge.
CREATE OR REPLACE FUNCTION is_queue_busy(queue_path text, own_path text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM queues q JOIN operations o ON o.id = q.running WHERE q.path = queue_path AND o.path <> own_path)
        OR (own_path <> queue_path AND EXISTS (SELECT FROM claims c WHERE c.path = queue_path AND c.mode = 'x'))
$$;

CREATE OR REPLACE FUNCTION queue_position(waiting queued) RETURNS bigint LANGUAGE sql STABLE AS $$
    SELECT count(*) FROM queued w WHERE w.queue = waiting.queue AND (w.turn, w.operation) <= (waiting.turn, waiting.operation)
$$;

-- The last of its queue from now on. The row of the queue is locked first, so turns are given in the order of arrival.
CREATE OR REPLACE FUNCTION enqueue(queue_request jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stops   boolean;
    refused jsonb := CASE WHEN queue_request ? 'uses' THEN find_denied_lanes(queue_request -> 'uses') END;
    known   idempotency_keys%ROWTYPE;
    queued_row    queued%ROWTYPE;
BEGIN
    IF refused IS NOT NULL THEN
        RETURN refused;
    END IF;
    INSERT INTO queues (path) VALUES (queue_request ->> 'queue')
    ON CONFLICT (path) DO UPDATE SET path = EXCLUDED.path RETURNING stopping INTO stops;
    IF stops THEN
        RETURN jsonb_build_object('conflict', 'stopping');
    END IF;
    IF queue_request ? 'key' THEN
        INSERT INTO idempotency_keys (principal, key, fingerprint, operation)
        VALUES (queue_request ->> 'principal', queue_request ->> 'key', queue_request ->> 'fingerprint',
                (queue_request ->> 'operation')::uuid)
        ON CONFLICT DO NOTHING;
        IF NOT FOUND THEN
            SELECT * INTO known FROM idempotency_keys k
             WHERE k.principal = queue_request ->> 'principal' AND k.key = queue_request ->> 'key';
            RETURN jsonb_build_object('conflict', 'key', 'operation', known.operation,
                                      'same', known.fingerprint = queue_request ->> 'fingerprint');
        END IF;
    END IF;
    INSERT INTO queued (operation, queue, path, kind, action, principal, actor, reason, request)
    VALUES ((queue_request ->> 'operation')::uuid, queue_request ->> 'queue', queue_request ->> 'path', queue_request ->> 'kind',
            queue_request ->> 'action', queue_request ->> 'principal', queue_request ->> 'actor', queue_request ->> 'reason', queue_request -> 'request')
    RETURNING * INTO queued_row;
    PERFORM record_queued(queued_row, queued_row.principal, queued_row.actor, 'queued', '{}');
    RETURN jsonb_build_object('position', queue_position(queued_row));
END $$;

-- The journal's line about one that waits; the resource stays as it is.
CREATE OR REPLACE FUNCTION record_queued(
    waiting queued, acting_principal text, as_actor text, trigger_name text, details jsonb
) RETURNS void LANGUAGE sql AS $$
    INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change, rejections)
    SELECT waiting.path, waiting.kind, waiting.operation, acting_principal, as_actor, trigger_name, waiting.action, coalesce(r.state, ''),
           coalesce(r.state, ''), jsonb_build_object('queue', waiting.queue) || details, (trigger_name = 'rejected')::int
      FROM (SELECT) one LEFT JOIN resources r ON r.path = waiting.path
$$;

-- One that waits ends without having begun: cancelled, refused, or done where there was nothing to do.
CREATE OR REPLACE FUNCTION leave_queue(
    id uuid, end_outcome text, end_reasons jsonb, acting_principal text, as_actor text
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    queued_row queued%ROWTYPE;
BEGIN
    DELETE FROM queued w WHERE w.operation = id RETURNING * INTO queued_row;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO ended_operations (id, action, kind, path, principal, reason, request, remaining, failed, created_at,
                                  outcome, reasons, says)
    VALUES (queued_row.operation, queued_row.action, queued_row.kind, queued_row.path, queued_row.principal, queued_row.reason,
            queued_row.request, 0,
            (end_outcome <> 'succeeded')::int, queued_row.created_at, end_outcome, end_reasons,
            coalesce(end_reasons -> 0 ->> 'message', reason_of_outcome(end_outcome)));
    PERFORM record_queued(queued_row, acting_principal, as_actor, CASE end_outcome WHEN 'cancelled' THEN 'cancel' ELSE end_outcome END,
                        CASE end_outcome WHEN 'rejected' THEN jsonb_build_object('reasons', end_reasons) ELSE '{}' END);
    PERFORM close_queue(queued_row.queue);
    RETURN true;
END $$;

-- Takes a queue away that takes nothing more, once all that was in it is carried out.
CREATE OR REPLACE FUNCTION close_queue(queue_path text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM queues q WHERE q.path = queue_path AND q.stopping FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    DELETE FROM queues q
     WHERE q.path = queue_path AND NOT EXISTS (SELECT FROM queued w WHERE w.queue = queue_path)
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
