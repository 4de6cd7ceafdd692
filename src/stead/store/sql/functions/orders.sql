-- Orders, as agents are told of them, and the timers that run beside them.

-- Orders as agents are told of them. Who is to restore something is told of the spec that is in force.
CREATE OR REPLACE FUNCTION order_messages(numbers bigint[]) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object(
               'id', o.id, 'lane', o.lane, 'kind', o.kind, 'verb', o.verb, 'operation', coalesce(o.operation::text, ''),
               'attempt', o.attempt, 'members', m.members) ORDER BY o.id), '[]')
      FROM orders o, cell, LATERAL (
          SELECT jsonb_agg(jsonb_build_object(
                     'path', r.path, 'fence', jsonb_build_array(cell.incarnation, r.fence), 'token', r.token,
                     'spec', CASE WHEN s.new THEN r.next_spec ELSE r.spec END, 'facts', r.facts,
                     'revision', CASE WHEN s.new THEN r.next_revision ELSE r.revision END) ORDER BY r.id) AS members
            FROM resources r, LATERAL (SELECT r.next_spec IS NOT NULL AND o.verb <> 'restore' AS new) s WHERE r.id = ANY (o.members) AND r.order_id = o.id) m
     WHERE o.id = ANY (numbers) AND m.members IS NOT NULL);
END $$;

-- Timers of an order that nobody takes: what was sent lies on its lane, and need not pile up there.
CREATE OR REPLACE FUNCTION delay_timers(start_timers jsonb, sends integer, at float8) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN start_timers || jsonb_build_object('resend', at + ((start_timers ->> 'resend')::float8 - at) * power(2, least(sends + 1, 6)));
END $$;

CREATE OR REPLACE FUNCTION earliest_timer(timers jsonb) RETURNS timestamptz LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT to_timestamp(min(value::float8)) FROM jsonb_each_text(timers));
END $$;
