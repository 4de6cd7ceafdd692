-- Booking. Times are the controller's: it says what time it is, and all goes by that.

-- How many hosts are enough for a reservation.
CREATE OR REPLACE FUNCTION min_hosts(reservation_spec jsonb) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(reservation_spec ->> 'min', reservation_spec ->> 'count')::integer
$$;

-- That time without what has passed of it before the host was taken back from the reservation that had it last.
CREATE OR REPLACE FUNCTION usable_period(host_id bigint, period tstzrange) RETURNS tstzrange LANGUAGE sql STABLE AS $$
    SELECT tstzrange(least(greatest(lower(period), (
               SELECT upper(a.during) FROM allocations a
                WHERE a.host = host_id AND a.over AND lower(a.during) < upper(period)
                ORDER BY lower(a.during) DESC LIMIT 1)), upper(period)), upper(period))
$$;

-- Whether another reservation has a host at that time. What is booked of one host does not overlap, so only the last that begins
-- before the end can. This goes by an index of its own: scans of the constraint's, begun anew within a statement, make it lose
-- rows that are there, and it would let them be booked twice (docs/adr/0032). So nothing here asks for `during &&`.
-- A host that was taken back is free, also where the time began before that.
CREATE OR REPLACE FUNCTION is_booked(host_id bigint, period tstzrange, for_reservation text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce((SELECT upper(a.during) > lower(period) FROM allocations a
                      WHERE a.host = host_id AND NOT a.over AND lower(a.during) < upper(period) AND a.reservation <> for_reservation
                      ORDER BY lower(a.during) DESC LIMIT 1), false)
        OR isempty(usable_period(host_id, period))
$$;

-- Hosts of a lane that nobody else has at that time: one host after the other is looked up, until there are enough.
CREATE OR REPLACE FUNCTION find_free_hosts(on_lane text, wants jsonpath, period tstzrange, for_reservation text, host_count integer, excluded_hosts bigint[])
    RETURNS bigint[] LANGUAGE sql STABLE SET plan_cache_mode = force_generic_plan SET jit = off SET enable_hashjoin = off
    SET enable_mergejoin = off SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM (
        SELECT h.id FROM hosts h
         WHERE h.lane = on_lane AND h.works AND h.id <> ALL (excluded_hosts) AND h.properties @@ wants
           AND NOT is_booked(h.id, period, for_reservation)
         ORDER BY h.id LIMIT host_count) f
$$;

-- When so many hosts of one lane are free together for so long, at the earliest; none, where too much is booked to tell.
-- It looks further and further ahead. A host can begin at any moment of a gap that leaves enough of it; where enough of
-- such spans lie over each other, there is room.
CREATE OR REPLACE FUNCTION find_next_start(wants jsonpath, host_count integer, not_before timestamptz, needed_time interval) RETURNS timestamptz
    LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN find_next_start_on(NULL, wants, host_count, not_before, needed_time);
END $$;

-- The same on lanes that a namespace may use; null: on any.
CREATE OR REPLACE FUNCTION find_next_start_on(namespace_name text, wants jsonpath, host_count integer, not_before timestamptz, needed_time interval)
    RETURNS timestamptz LANGUAGE plpgsql STABLE SET jit = off AS $$
DECLARE
    l      text;
    until_ timestamptz;
    best   timestamptz;
    slot   timestamptz;
    looked bigint;
    most   constant bigint := 100000;  -- bookings that are looked at
BEGIN
    FOR l IN SELECT h.lane FROM hosts h WHERE h.works AND h.properties @@ wants
              GROUP BY h.lane HAVING count(*) >= host_count AND (namespace_name IS NULL OR may_use_lane(namespace_name, h.lane))
    LOOP
        FOR i IN 1 .. 7 LOOP
            until_ := CASE WHEN i < 7 THEN not_before + greatest(needed_time, interval '1 hour') * (2 * 4 ^ i) ELSE 'infinity' END;
            WITH host AS (
                SELECT h.id FROM hosts h WHERE h.lane = l AND h.works AND h.properties @@ wants
            ), busy AS (
                SELECT a.host, lower(a.during) AS starts, upper(a.during) AS ends
                  FROM allocations a
                 WHERE a.host = ANY (ARRAY(SELECT id FROM host)) AND NOT a.over
                   AND lower(a.during) < until_ AND upper(a.during) > not_before
                 LIMIT most
            ), gap AS (
                SELECT host, greatest(coalesce(lag(ends) OVER before, not_before), not_before) AS starts, starts AS ends
                  FROM busy WINDOW before AS (PARTITION BY host ORDER BY starts)
                UNION ALL
                SELECT host.id, greatest(max(busy.ends), not_before), until_ FROM host LEFT JOIN busy ON busy.host = host.id
                 GROUP BY host.id
            ), edge AS (
                SELECT starts AS t, 1 AS one FROM gap WHERE ends - needed_time >= starts
                UNION ALL
                SELECT ends - needed_time, -1 FROM gap WHERE ends - needed_time >= starts
            )
            SELECT (SELECT min(t) FROM (
                       SELECT t, sum(one) OVER (ORDER BY t, one DESC) AS free FROM edge) e WHERE free >= host_count),
                   (SELECT count(*) FROM busy) INTO slot, looked;
            EXIT WHEN slot IS NOT NULL OR looked >= most;
        END LOOP;
        IF slot IS NOT NULL AND looked < most THEN
            best := least(best, slot);
        END IF;
    END LOOP;
    RETURN best;
END $$;

-- Have so many hosts of one lane, or at least some; none, where there are not. What others are about to take is waited
-- for, and then looked at anew.
CREATE OR REPLACE FUNCTION allocate_hosts(for_reservation text, on_lane text, wants jsonpath, host_count integer, min_count integer, period tstzrange,
                                    excluded_hosts bigint[])
    RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
    found bigint[];
    again bigint[];
BEGIN
    LOOP
        found := find_free_hosts(on_lane, wants, period, for_reservation, host_count, excluded_hosts);
        IF cardinality(found) < min_count THEN
            RETURN '{}';
        END IF;
        PERFORM FROM hosts WHERE id = ANY (found) ORDER BY id FOR NO KEY UPDATE;
        again := ARRAY(SELECT h.id FROM hosts h
                        WHERE h.id = ANY (found) AND h.works AND NOT is_booked(h.id, period, for_reservation) ORDER BY h.id);
        EXIT WHEN again = found;
        excluded_hosts := excluded_hosts || ARRAY(SELECT unnest(found) EXCEPT SELECT unnest(again));
    END LOOP;
    INSERT INTO allocations (host, reservation, during) SELECT h, for_reservation, usable_period(h, period) FROM unnest(found) h;
    RETURN found;
END $$;

-- Why there is no room, when there is, and on which lanes there are such hosts that the namespace may not use.
CREATE OR REPLACE FUNCTION raise_hosts_unavailable(lease text, reservation_spec jsonb, period tstzrange, not_before timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    needed_time interval := upper(period) - lower(period);
    namespace_name text := split_part(lease, '/', 2);
    wants jsonpath := (reservation_spec ->> 'wants')::jsonpath;
    host_count  integer := min_hosts(reservation_spec);
BEGIN
    RAISE EXCEPTION 'no room' USING ERRCODE = 'ST002', DETAIL = jsonb_build_object(
        'reservation', reservation_spec ->> 'name', 'count', host_count,
        'next', extract(epoch FROM find_next_start_on(namespace_name, wants, host_count, not_before, needed_time)),
        'beyond', (SELECT coalesce(jsonb_agg(lane ORDER BY lane), '[]') FROM (
            SELECT h.lane FROM hosts h WHERE h.works AND h.properties @@ wants
             GROUP BY h.lane HAVING count(*) >= host_count AND NOT may_use_lane(namespace_name, h.lane) LIMIT 5) b))::text;
END $$;

CREATE OR REPLACE FUNCTION host_names(found bigint[]) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT coalesce(jsonb_agg(h.name ORDER BY h.name), '[]') FROM hosts h WHERE h.id = ANY (found)
$$;

-- One more reservation of a lease, with hosts of the first lane that has all, or else of the first that has enough.
CREATE OR REPLACE FUNCTION book_reservation(lease text, reservation_spec jsonb, period tstzrange, at timestamptz) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    for_reservation  text := lease || '/' || (reservation_spec ->> 'name');
    host_count  integer := (reservation_spec ->> 'count')::integer;
    min_count   integer;
    l     text;
    found bigint[] := '{}';
    spec_ jsonb;
BEGIN
    FOR min_count, l IN
        SELECT enough, h.lane FROM unnest(ARRAY[host_count, min_hosts(reservation_spec)]) WITH ORDINALITY f (enough, n), hosts h
         WHERE h.works AND h.properties @@ (reservation_spec ->> 'wants')::jsonpath AND (n = 1 OR enough < host_count)
         GROUP BY n, enough, h.lane HAVING count(*) >= enough AND may_use_lane(split_part(lease, '/', 2), h.lane) ORDER BY n, h.lane
    LOOP
        found := allocate_hosts(for_reservation, l, (reservation_spec ->> 'wants')::jsonpath, host_count, min_count, period, '{}');
        EXIT WHEN cardinality(found) > 0;
    END LOOP;
    IF cardinality(found) = 0 THEN
        PERFORM raise_hosts_unavailable(lease, reservation_spec, period, greatest(lower(period), at));
    END IF;
    spec_ := reservation_spec || jsonb_build_object('hosts', host_names(found));
    INSERT INTO resources (path, kind, state, fence, lane, token, spec, revision)
    SELECT for_reservation, 'reservation', 'pending', f, l, gen_random_uuid(), spec_, f
      FROM (SELECT (extract(epoch FROM at) * 1000)::bigint AS f) first;
    INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change)
    SELECT for_reservation, 'reservation', r.operation, 'controller', 'controller', 'next', 'book', '', 'pending',
           jsonb_build_object('spec', spec_)
      FROM resources r WHERE r.path = lease;
END $$;

-- The moments of a lease. One that has come is not undone; one whose time is moved is to come anew.
CREATE OR REPLACE FUNCTION set_lease_events(of_lease text, starts timestamptz, warns timestamptz, ends timestamptz) RETURNS void LANGUAGE sql AS $$
    INSERT INTO lease_events AS e (lease, kind, at)
    SELECT of_lease, k.kind, k.at
      FROM (VALUES ('start_lease', starts), ('before_end_lease', warns), ('end_lease', ends)) k (kind, at)
     WHERE k.at IS NOT NULL
    ON CONFLICT (lease, kind) DO UPDATE SET at = EXCLUDED.at, status = 'UNDONE', fired = 0, fired_at = NULL,
        due_at = '-infinity'
     WHERE (e.at <> EXCLUDED.at AND NOT (e.kind = 'start_lease' AND e.status = 'DONE'))
        OR (e.status = 'ERROR' AND e.kind = 'end_lease');
    DELETE FROM lease_events WHERE lease = of_lease AND kind = 'before_end_lease' AND warns IS NULL;
$$;

CREATE OR REPLACE FUNCTION list_lease_reservations(of_lease text) RETURNS SETOF resources LANGUAGE sql STABLE AS $$
    SELECT * FROM resources
     WHERE path > of_lease || '/' AND path < of_lease || '0' AND kind = 'reservation' ORDER BY path
$$;

-- Hosts of a lease that another lease had before, and that were not taken back from it yet.
CREATE OR REPLACE FUNCTION count_awaited_hosts(of_lease text) RETURNS TABLE (host text) LANGUAGE sql STABLE AS $$
    SELECT h.name FROM list_lease_reservations(of_lease) r JOIN allocations a ON a.reservation = r.path AND NOT a.over
      JOIN allocations b ON b.host = a.host AND NOT b.over AND lower(b.during) < lower(a.during)
      JOIN hosts h ON h.id = a.host
$$;

-- Book what a lease wants, all or nothing; false where the lease does not wait for that any more.
CREATE OR REPLACE FUNCTION book_lease(of_lease text, under bigint, terms jsonb, at float8) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    starts timestamptz := to_timestamp((terms ->> 'start')::float8);
    ends   timestamptz := to_timestamp((terms ->> 'end')::float8);
    reservation_spec   jsonb;
BEGIN
    PERFORM FROM resources WHERE path = of_lease AND kind = 'lease' AND state = 'CREATING' AND fence = under FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF EXISTS (SELECT FROM lease_events WHERE lease = of_lease) THEN
        RETURN true;
    END IF;
    FOR reservation_spec IN SELECT value FROM jsonb_array_elements(terms -> 'reservations') LOOP
        PERFORM book_reservation(of_lease, reservation_spec, tstzrange(starts, ends), to_timestamp(at));
    END LOOP;
    PERFORM check_lease_quotas(of_lease, tstzrange(starts, ends));
    PERFORM set_lease_events(of_lease, starts, to_timestamp((terms ->> 'warn')::float8), ends);
    RETURN true;
END $$;

-- Book what a lease wants from now on, all or nothing; where another host is looked for because one failed, as much as
-- there is. False where the lease does not wait for that any more.
CREATE OR REPLACE FUNCTION rebook_lease(of_lease text, under bigint, terms jsonb, at float8, heals boolean) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    starts timestamptz := to_timestamp((terms ->> 'start')::float8);
    ends   timestamptz := to_timestamp((terms ->> 'end')::float8);
    reservation_spec   jsonb;
    r      resources;
    had    bigint[];
    kept   bigint[];
    now_   bigint[];
    failed bigint[];  -- those that do not work, and stay booked
    host_count   integer;
    min_count    integer;
    lacks  boolean;
    spec_  jsonb;
    moved  text;
    period  constant tstzrange := tstzrange(starts, ends);
    before constant tstzrange := (SELECT tstzrange(min(e.at), max(e.at)) FROM lease_events e WHERE e.lease = of_lease);
    had_all constant bigint := (SELECT count(*) FROM list_lease_reservations(of_lease) p
                                  JOIN allocations a ON a.reservation = p.path AND NOT a.leaving);
BEGIN
    PERFORM FROM resources WHERE path = of_lease AND kind = 'lease' AND state = 'UPDATING' AND fence = under FOR UPDATE;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    FOR reservation_spec IN SELECT value FROM jsonb_array_elements(terms -> 'reservations') LOOP
        SELECT * INTO r FROM resources WHERE path = of_lease || '/' || (reservation_spec ->> 'name') AND kind = 'reservation' FOR UPDATE;
        IF NOT FOUND THEN
            PERFORM book_reservation(of_lease, reservation_spec, period, to_timestamp(at));
            CONTINUE;
        END IF;
        -- On a lane that was denied since, what is booked stays, and may end sooner; it does not get longer.
        IF NOT heals AND NOT may_use_lane(split_part(of_lease, '/', 2), r.lane) AND EXISTS (
               SELECT FROM allocations a WHERE a.reservation = r.path AND NOT a.leaving
                  AND NOT a.during @> usable_period(a.host, period)) THEN
            RAISE EXCEPTION 'no room' USING ERRCODE = 'ST002', DETAIL = jsonb_build_object(
                'reservation', reservation_spec ->> 'name', 'beyond', jsonb_build_array(r.lane))::text;
        END IF;
        had := ARRAY(SELECT host FROM allocations WHERE reservation = r.path AND NOT leaving ORDER BY host);
        -- All hosts are locked before any is given away, in one order for everybody.
        PERFORM FROM hosts WHERE id IN (SELECT host FROM allocations WHERE reservation = r.path) ORDER BY id FOR NO KEY UPDATE;
        host_count := CASE WHEN heals THEN greatest(min_hosts(reservation_spec), cardinality(had)) ELSE (reservation_spec ->> 'count')::integer END;
        -- A lease that lacks hosts may go on to lack them, but no more of them than before.
        min_count := min_hosts(reservation_spec);
        IF heals THEN
            min_count := 0;
        ELSIF r.spec ->> 'wants' = reservation_spec ->> 'wants' THEN
            min_count := least(min_count, (SELECT count(*) FROM hosts h WHERE h.id = ANY (had) AND h.works)
                              + greatest(min_count - min_hosts(r.spec), 0));
        END IF;
        kept := ARRAY(  -- one that is leaving and is wanted again stays
            SELECT h.id FROM hosts h JOIN allocations a ON a.host = h.id AND a.reservation = r.path
             WHERE h.works AND h.properties @@ (reservation_spec ->> 'wants')::jsonpath AND NOT is_booked(h.id, period, r.path)
             ORDER BY a.leaving, h.id LIMIT host_count);
        IF r.state <> 'pending' AND NOT heals THEN  -- what is handed over is not exchanged because of a longer time
            SELECT h.name INTO moved FROM hosts h
             WHERE h.id = ANY (had) AND h.works AND h.properties @@ (reservation_spec ->> 'wants')::jsonpath
               AND is_booked(h.id, period, r.path)
             ORDER BY h.id LIMIT 1;
            IF moved IS NOT NULL AND cardinality(kept) < host_count THEN
                RAISE EXCEPTION 'no room' USING ERRCODE = 'ST002', DETAIL = jsonb_build_object(
                    'reservation', reservation_spec ->> 'name', 'host', moved)::text;
            END IF;
        END IF;
        now_ := kept;
        IF cardinality(kept) < host_count AND may_use_lane(split_part(of_lease, '/', 2), r.lane) THEN
            now_ := kept || allocate_hosts(r.path, r.lane, (reservation_spec ->> 'wants')::jsonpath, host_count - cardinality(kept),
                                     greatest(min_count - cardinality(kept), 1), period, kept || had);
        END IF;
        IF cardinality(now_) < min_count THEN
            PERFORM raise_hosts_unavailable(of_lease, reservation_spec, period, greatest(starts, to_timestamp(at)));
        END IF;
        -- A host that failed stays booked until there is another: it may come back.
        failed := ARRAY(SELECT h.id FROM hosts h
                         WHERE h.id = ANY (had) AND NOT h.works AND h.properties @@ (reservation_spec ->> 'wants')::jsonpath
                           AND NOT is_booked(h.id, period, r.path) ORDER BY h.id LIMIT host_count - cardinality(now_));
        UPDATE allocations SET leaving = false, during = usable_period(host, period)
         WHERE reservation = r.path AND host = ANY (kept || failed);
        -- What was handed over is another's only when it was taken back.
        UPDATE allocations SET leaving = true
         WHERE reservation = r.path AND host <> ALL (now_ || failed) AND r.state <> 'pending';
        DELETE FROM allocations WHERE reservation = r.path AND host <> ALL (now_ || failed) AND r.state = 'pending';
        lacks := cardinality(now_) < min_hosts(reservation_spec) OR cardinality(failed) > 0;
        spec_ := reservation_spec || jsonb_build_object('hosts', host_names(now_));
        IF r.state IN ('pending', 'error') AND r.spec <> spec_ THEN  -- nobody has it
            UPDATE resources SET spec = spec_, revision = fence + 1, fence = fence + 1, version = version + 1
             WHERE id = r.id;
            INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change)
            SELECT r.path, 'reservation', l.operation, 'controller', 'controller', 'next', 'book', r.state, r.state,
                   jsonb_build_object('spec', spec_)
              FROM resources l WHERE l.path = of_lease;
        END IF;
        INSERT INTO reservation_flags AS f (reservation, missing_resources, resources_changed, lost)
        SELECT r.path, lacks, heals AND NOT had @> now_, false
         WHERE lacks OR (heals AND NOT had @> now_)
        ON CONFLICT (reservation) DO UPDATE SET missing_resources = EXCLUDED.missing_resources,
            resources_changed = (heals AND f.resources_changed) OR EXCLUDED.resources_changed;
        IF NOT lacks THEN
            PERFORM clear_flags(r.path, missing => true, changed => NOT heals);
        END IF;
    END LOOP;
    -- What a lease has already it keeps, also where it is more than the namespace may have by now.
    IF NOT heals AND NOT (before @> period AND had_all >= (
           SELECT count(*) FROM list_lease_reservations(of_lease) p JOIN allocations a ON a.reservation = p.path AND NOT a.leaving)) THEN
        PERFORM check_lease_quotas(of_lease, period);
    END IF;
    PERFORM set_lease_events(of_lease, starts, to_timestamp((terms ->> 'warn')::float8), ends);
    RETURN true;
END $$;

-- Flags whose cause is gone.
CREATE OR REPLACE FUNCTION clear_flags(of_reservation text, missing boolean DEFAULT false, changed boolean DEFAULT false,
                                       was_lost boolean DEFAULT false) RETURNS void LANGUAGE sql AS $$
    DELETE FROM reservation_flags f
     WHERE f.reservation = of_reservation AND (missing OR NOT f.missing_resources)
       AND (changed OR NOT f.resources_changed) AND (was_lost OR NOT f.lost);
    UPDATE reservation_flags f
       SET missing_resources = f.missing_resources AND NOT missing,
           resources_changed = f.resources_changed AND NOT changed, lost = f.lost AND NOT was_lost
     WHERE f.reservation = of_reservation;
$$;

-- What time it is for whoever writes.
CREATE OR REPLACE FUNCTION commit_time() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT coalesce(to_timestamp(nullif(current_setting('stead.at', true), '')::float8), now())
$$;

-- A lease has moved: so have its events.
CREATE OR REPLACE FUNCTION on_lease_state_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    CASE NEW.state
    WHEN 'STARTING' THEN
        UPDATE lease_events SET status = 'IN_PROGRESS', fired = fired + 1, fired_at = commit_time()
         WHERE lease = NEW.path AND kind = 'start_lease';
    WHEN 'ACTIVE' THEN
        UPDATE lease_events SET status = 'DONE' WHERE lease = NEW.path AND kind = 'start_lease' AND status <> 'DONE';
    WHEN 'TERMINATING' THEN
        UPDATE lease_events SET status = 'DONE' WHERE lease = NEW.path AND kind = 'start_lease' AND status <> 'DONE';
        UPDATE lease_events SET status = 'IN_PROGRESS',  -- hosts that are asked for once more are no other moment
               fired = fired + (status <> 'ERROR')::integer,
               fired_at = CASE status WHEN 'ERROR' THEN fired_at ELSE commit_time() END
         WHERE lease = NEW.path AND kind = 'end_lease';
    WHEN 'TERMINATED' THEN
        UPDATE lease_events SET status = 'DONE' WHERE lease = NEW.path AND kind = 'end_lease' AND status <> 'DONE';
    WHEN 'UPDATING', 'ERROR', 'DELETING' THEN  -- of UPDATING: a notice that is being delivered, and is then DONE or ERROR
        UPDATE lease_events SET status = 'ERROR' WHERE lease = NEW.path AND status = 'IN_PROGRESS';
        IF OLD.state = 'CREATING' AND NEW.state = 'ERROR' THEN  -- none was made
            PERFORM delete_lease_parts(NEW.path);
        ELSIF NEW.state = 'ERROR' THEN
            PERFORM fail_lease_parts(NEW.path);
        END IF;
    ELSE
        NULL;
    END CASE;
    RETURN NULL;
END $$;

-- A lease that failed failed with its reservations: one that did not follow, and was then seen as it was before, is in
-- error, too, where no other is.
CREATE OR REPLACE FUNCTION fail_lease_parts(of_lease text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM list_lease_reservations(of_lease) WHERE state = 'error') THEN
        RETURN;
    END IF;
    INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target)
    SELECT path, kind, 'controller', 'controller', 'failed', 'follow', state, 'error'
      FROM list_lease_reservations(of_lease) WHERE state IN ('pending', 'active');
    UPDATE resources SET state = 'error', fence = fence + 1, version = version + 1, observe_at = NULL, changed_at = now()
     WHERE id IN (SELECT id FROM list_lease_reservations(of_lease) WHERE state IN ('pending', 'active'));
END $$;

CREATE OR REPLACE FUNCTION delete_lease_parts(of_lease text) RETURNS void LANGUAGE sql AS $$
    DELETE FROM allocations WHERE reservation IN (SELECT path FROM list_lease_reservations(of_lease));
    DELETE FROM reservation_flags WHERE reservation IN (SELECT path FROM list_lease_reservations(of_lease));
    DELETE FROM lease_events WHERE lease = of_lease;
    INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target)
    SELECT path, kind, 'controller', 'controller', 'next', 'forget', state, '' FROM list_lease_reservations(of_lease);
    DELETE FROM resources WHERE id IN (SELECT id FROM list_lease_reservations(of_lease));
$$;

CREATE OR REPLACE FUNCTION on_lease_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM delete_lease_parts(OLD.path);
    DELETE FROM lease_notices WHERE lease = OLD.path;
    RETURN NULL;
END $$;

-- Hosts were taken back: from now on they are free.
CREATE OR REPLACE FUNCTION on_reservation_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM allocations WHERE reservation = NEW.path AND lower(during) >= commit_time();
    UPDATE allocations SET over = true, during = tstzrange(lower(during), least(upper(during), commit_time()))
     WHERE reservation = NEW.path;
    DELETE FROM reservation_flags WHERE reservation = NEW.path;
    RETURN NULL;
END $$;

-- Whether a lease of another namespace has a node of the private cloud now.
CREATE OR REPLACE FUNCTION is_node_booked(node_path text, for_namespace text) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (SELECT FROM hosts h JOIN allocations a ON a.host = h.id AND NOT a.over AND lower(a.during) <= now()
                    WHERE h.node = node_path AND split_part(a.reservation, '/', 2) <> for_namespace)
$$;

-- A host that is a node of the private cloud works while that is enabled.
CREATE OR REPLACE FUNCTION on_node_state_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE hosts SET works = NEW.state = 'ENABLED',
                     why = CASE WHEN NEW.state = 'ENABLED' THEN '' ELSE 'its node is ' || NEW.state END
     WHERE node = NEW.path;
    RETURN NULL;
END $$;

-- Whether a reservation that lacks hosts could have more of them now.
CREATE OR REPLACE FUNCTION is_repairable(of_reservation text, on_lane text, reservation_spec jsonb) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN had.works >= greatest(min_hosts(reservation_spec), cardinality(had.hosts)) THEN true
                ELSE cardinality(find_free_hosts(on_lane, (reservation_spec ->> 'wants')::jsonpath, had.during, of_reservation, 1, had.hosts)) > 0
                  OR had.works > jsonb_array_length(reservation_spec -> 'hosts') END
      FROM (SELECT count(h.id) FILTER (WHERE h.works) AS works, coalesce(array_agg(h.id) FILTER (WHERE h.id IS NOT NULL), '{}') AS hosts,
                   tstzrange(min(e.at) FILTER (WHERE e.kind = 'start_lease'), min(e.at) FILTER (WHERE e.kind = 'end_lease')) AS during
              FROM lease_events e
              LEFT JOIN allocations a ON a.reservation = of_reservation AND NOT a.leaving AND e.kind = 'start_lease'
              LEFT JOIN hosts h ON h.id = a.host
             WHERE e.lease = regexp_replace(of_reservation, '/[^/]+$', '') AND e.kind <> 'before_end_lease') had
$$;
