-- Room on lanes: so many members at once in a region, so many regions at once at a provider.

-- The limits of the lanes that orders are given on; lanes without a limit are left out.
CREATE OR REPLACE FUNCTION lane_limits(works pending_change[]) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(d.lane, coalesce(l.members, p.members, 1000000)), '{}')
      FROM (SELECT DISTINCT w.lane FROM unnest(works) w) d
      LEFT JOIN lanes l ON l.name = d.lane LEFT JOIN providers p ON p.name = split_part(d.lane, '.', 1)
     WHERE coalesce(l.members, p.members, p.regions) IS NOT NULL);
END $$;

-- Gives room on lanes to orders that wait for it, and answers with their numbers. A lane has room for so many members,
-- a provider for so many regions. Operations take turns by members: what waits has a turn as far behind what was served
-- last as its operation has members before it, so a small one does not wait behind a huge one, nor a huge one for ever.
-- Regions take turns by time: one that has had its share lets those that wait for a region go first.
--
-- Whoever gives room holds the lane's row, so that two cannot give the same; whoever only frees some need not.
CREATE OR REPLACE FUNCTION grant_orders(names text[], at float8) RETURNS bigint[] LANGUAGE plpgsql
  SET enable_seqscan = off SET jit = off AS $$
DECLARE
    share     constant interval := '2 seconds';
    this      record;
    taken     bigint;
    room      bigint;
    picked    bigint[];
    granted   bigint[] := '{}';
BEGIN
    PERFORM FROM providers WHERE regions IS NOT NULL AND name IN (SELECT split_part(n, '.', 1) FROM unnest(names) n)
      ORDER BY name FOR UPDATE;
    INSERT INTO lanes (name) SELECT DISTINCT n FROM unnest(names) n ORDER BY n ON CONFLICT DO NOTHING;
    -- Where a provider bears only so many regions, one that becomes free is for any of its lanes.
    names := names || ARRAY(
        SELECT l.name FROM providers p JOIN lanes l ON l.name > p.name || '.' AND l.name < p.name || '/'
         WHERE p.regions IS NOT NULL AND p.name IN (SELECT split_part(n, '.', 1) FROM unnest(names) n)
           AND EXISTS (SELECT FROM orders o WHERE o.lane = l.name AND NOT o.granted AND NOT o.held)
           AND NOT EXISTS (SELECT FROM orders o WHERE o.lane = l.name AND o.granted));
    PERFORM FROM lanes WHERE name = ANY (names) ORDER BY name FOR UPDATE;
    FOR this IN
        SELECT l.name, split_part(l.name, '.', 1) AS provider, coalesce(l.members, p.members, 1000000) AS cap, p.regions,
               l.since
          FROM lanes l LEFT JOIN providers p ON p.name = split_part(l.name, '.', 1)
         WHERE l.name = ANY (names) ORDER BY l.since
    LOOP
        SELECT coalesce(sum(open), 0) INTO taken FROM orders WHERE lane = this.name AND orders.granted;
        room := this.cap - taken;
        CONTINUE WHEN room <= 0;
        IF this.regions IS NOT NULL AND count_busy_regions(this.provider) >= this.regions THEN
            CONTINUE WHEN taken = 0;
            CONTINUE WHEN this.since < now() - share AND EXISTS (
                SELECT FROM unnest(names) n WHERE n <> this.name AND split_part(n, '.', 1) = this.provider
                   AND NOT EXISTS (SELECT FROM orders o WHERE o.lane = n AND o.granted)
                   AND EXISTS (SELECT FROM orders o WHERE o.lane = n AND NOT o.granted AND NOT o.held));
        END IF;
        SELECT array_agg(id) INTO picked FROM (
            SELECT id, sum(open) OVER (ORDER BY turn, id) AS upto FROM (
                SELECT o.id, o.open, o.turn FROM orders o WHERE o.lane = this.name AND NOT o.granted AND NOT o.held
                 ORDER BY o.turn, o.id LIMIT room) first) sums
         WHERE upto <= room;
        CONTINUE WHEN picked IS NULL;
        -- Whatever somebody is just changing is left to the next time: nobody waits for anybody here.
        SELECT array_agg(o.id) INTO picked FROM orders o WHERE o.id = ANY (picked) AND o.open = (
            SELECT count(*) FROM (SELECT FROM resources r WHERE r.id = ANY (o.members) AND r.order_id = o.id
                                     FOR UPDATE SKIP LOCKED) locked);
        CONTINUE WHEN picked IS NULL;
        UPDATE resources r SET timers = (r.timers - 'waiting') || shift_timers(r.waits, at), waits = NULL,
                               due = earliest_timer((r.timers - 'waiting') || shift_timers(r.waits, at))
          FROM orders o WHERE o.id = ANY (picked) AND r.id = ANY (o.members) AND r.order_id = o.id;
        UPDATE lanes SET served = greatest(served, (SELECT max(turn) FROM orders WHERE id = ANY (picked))),
                         since = CASE WHEN taken = 0 THEN now() ELSE since END
         WHERE name = this.name;
        UPDATE orders SET granted = true WHERE id = ANY (picked);
        granted := granted || picked;
    END LOOP;
    RETURN granted;
END $$;

-- Grants orders like `grant_orders`, and divides the one that does not fit, so that no slot stays free while an order waits.
-- Commits grant whole orders only; the controller calls this a moment later, so that slots freed together serve one call.
-- The answer is read in a statement of its own, which sees who is in which order now.
CREATE OR REPLACE FUNCTION split_and_grant_orders(names text[], at float8) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    this    record;
    granted bigint[];
BEGIN
    PERFORM FROM providers WHERE regions IS NOT NULL AND name IN (SELECT split_part(n, '.', 1) FROM unnest(names) n)
      ORDER BY name FOR UPDATE;
    PERFORM FROM lanes WHERE name = ANY (names) ORDER BY name FOR UPDATE;
    FOR this IN SELECT n AS lane, count_free_slots(n) AS slots FROM unnest(names) n LOOP
        PERFORM split_waiting_order(this.lane, this.slots) WHERE this.slots > 0;
    END LOOP;
    granted := grant_orders(names, at);
    RETURN order_messages(granted);
END $$;

-- Divides the first order of a lane that does not fit into so many free slots: it keeps the members that fit, and a new
-- order, next in turn, gets the others.
CREATE OR REPLACE FUNCTION split_waiting_order(lane_name text, slots bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    first record;
BEGIN
    SELECT o.id, slots - (upto - o.open) AS fits INTO first FROM (
        SELECT id, open, turn, sum(open) OVER (ORDER BY turn, id) AS upto FROM (
            SELECT id, open, turn FROM orders WHERE lane = lane_name AND NOT granted AND NOT held ORDER BY turn, id LIMIT slots) next) o
     WHERE o.upto > slots ORDER BY o.turn, o.id LIMIT 1;
    IF first.id IS NULL OR first.fits = 0 THEN
        RETURN;
    END IF;
    PERFORM split_order(first.id, first.fits);
END $$;

-- Leaves an order so many of its members, and gives the others to a new one, whose number it answers with; NULL if another
-- transaction changes a member right now. No agent knows of an order before it is published, so its members may still change.
CREATE OR REPLACE FUNCTION split_order(number bigint, kept bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
    divided orders;
    locked  bigint[];
    made    bigint;
BEGIN
    SELECT * INTO divided FROM orders WHERE id = number AND agent = '' FOR UPDATE;
    SELECT array_agg(m.id ORDER BY m.id) INTO locked FROM (
        SELECT r.id FROM resources r WHERE r.id = ANY (divided.members) AND r.order_id = number
           FOR UPDATE SKIP LOCKED) m;
    IF cardinality(locked) IS DISTINCT FROM divided.open OR kept < 1 OR kept >= divided.open THEN
        RETURN NULL;
    END IF;
    INSERT INTO orders (operation, lane, kind, verb, members, open, attempt, granted, held, turn, created_at)
    VALUES (divided.operation, divided.lane, divided.kind, divided.verb, locked[kept + 1:], divided.open - kept,
            divided.attempt, divided.granted, divided.held, divided.turn, divided.created_at)
    RETURNING id INTO made;
    UPDATE resources SET order_id = made WHERE id = ANY (locked[kept + 1:]);
    UPDATE orders SET members = locked[:kept], open = kept WHERE id = number;
    RETURN made;
END $$;

-- Divides an order that the bus rejects as too large; both halves, or none if a member is being changed.
CREATE OR REPLACE FUNCTION halve_order(number bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    made bigint;
BEGIN
    made := split_order(number, (SELECT open / 2 FROM orders WHERE id = number));
    RETURN order_messages(CASE WHEN made IS NULL THEN '{}' ELSE ARRAY[number, made] END);
END $$;

-- Slots of a lane that no order has. A lane without a limit has plenty.
CREATE OR REPLACE FUNCTION count_free_slots(lane_name text) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((SELECT members FROM lanes WHERE name = lane_name),
                    (SELECT members FROM providers WHERE name = split_part(lane_name, '.', 1)), 1000000)
           - (SELECT coalesce(sum(open), 0) FROM orders WHERE lane = lane_name AND orders.granted);
END $$;

-- Lanes on which orders wait though slots are free.
CREATE OR REPLACE FUNCTION lanes_with_free_slots(names text[]) RETURNS text[] LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(array_agg(n), '{}') FROM unnest(names) n
             WHERE EXISTS (SELECT FROM orders o WHERE o.lane = n AND NOT o.granted AND NOT o.held) AND count_free_slots(n) > 0);
END $$;

-- Whether somebody waits for room that becomes free on a lane.
CREATE OR REPLACE FUNCTION has_waiting_orders(lane_name text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (SELECT FROM orders o WHERE o.lane = lane_name AND NOT o.granted AND NOT o.held)
        OR EXISTS (SELECT FROM providers p JOIN orders o ON o.lane > p.name || '.' AND o.lane < p.name || '/'
                    WHERE p.name = split_part(lane_name, '.', 1) AND p.regions IS NOT NULL AND NOT o.granted
                      AND NOT o.held);
END $$;

-- Regions of a provider in which something is being done.
CREATE OR REPLACE FUNCTION count_busy_regions(provider text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT count(*) FROM lanes l
     WHERE l.name > provider || '.' AND l.name < provider || '/'
       AND EXISTS (SELECT FROM orders o WHERE o.lane = l.name AND o.granted));
END $$;

-- The turn after which an operation's next order on a lane comes.
CREATE OR REPLACE FUNCTION next_turn(lane_name text, op uuid) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN greatest((SELECT served FROM lanes WHERE name = lane_name),
                    (SELECT max(turn) FROM orders WHERE lane = lane_name AND operation = op AND NOT granted), 0);
END $$;

-- Timers so many seconds later.
CREATE OR REPLACE FUNCTION shift_timers(timers jsonb, by float8) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_object_agg(key, value::float8 + by), '{}') FROM jsonb_each_text(timers));
END $$;
