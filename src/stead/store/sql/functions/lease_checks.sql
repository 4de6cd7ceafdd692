-- The table of combinations, held at every commit: which statuses of a lease, its reservations and its events go together.

-- The lease that a resource belongs to; null for a resource of another kind.
CREATE OR REPLACE FUNCTION lease_of(kind text, path text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE kind WHEN 'lease' THEN path WHEN 'reservation' THEN regexp_replace(path, '/[^/]+$', '') END
$$;

CREATE OR REPLACE FUNCTION check_lease_parts() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    before text;
    after_ text;
BEGIN
    IF TG_TABLE_NAME = 'lease_events' THEN
        before := OLD.lease;
        after_ := NEW.lease;
    ELSE
        before := lease_of(OLD.kind, OLD.path);
        after_ := lease_of(NEW.kind, NEW.path);
    END IF;
    IF before IS NOT NULL THEN
        PERFORM check_lease(before);
    END IF;
    IF after_ IS DISTINCT FROM before AND after_ IS NOT NULL THEN
        PERFORM check_lease(after_);
    END IF;
    RETURN NULL;
END $$;

-- A table was emptied at once, which no trigger of a row sees.
CREATE OR REPLACE FUNCTION check_all_leases() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM check_lease(path) FROM (
        SELECT path FROM resources WHERE kind = 'lease' UNION SELECT lease FROM lease_events) l;
    RETURN NULL;
END $$;

-- What there is of a lease goes together, and nothing is missing of it, or the transaction fails. The lease is locked for
-- the check: two transactions that are right by themselves could be wrong together.
CREATE OR REPLACE FUNCTION check_lease(of_lease text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    stands  text;
    parts   text[];
    lacking text[];
    c       lease_combinations;
BEGIN
    SELECT state INTO stands FROM resources WHERE path = of_lease AND kind = 'lease' FOR UPDATE;
    parts := ARRAY(SELECT state FROM list_lease_reservations(of_lease));
    SELECT * INTO c FROM lease_combinations WHERE lease = stands;
    IF cardinality(parts) = 0 AND (c.lease IS NULL OR c.may_lack_parts)
       AND NOT EXISTS (SELECT FROM lease_events WHERE lease = of_lease) THEN
        RETURN;
    END IF;
    IF c.lease IS NULL THEN
        PERFORM raise_lease_conflict(of_lease, format('a lease that is %s has parts', coalesce(stands, 'not there')));
    END IF;
    lacking := ARRAY(SELECT k FROM unnest('{start_lease,end_lease}'::text[]) k
                      WHERE NOT EXISTS (SELECT FROM lease_events e WHERE e.lease = of_lease AND e.kind = k));
    IF cardinality(parts) = 0 THEN
        lacking := lacking || 'reservation'::text;
    END IF;
    IF cardinality(lacking) > 0 THEN
        PERFORM raise_lease_conflict(of_lease, format('a lease that is %s has no %s', stands, array_to_string(lacking, ', ')));
    ELSIF NOT parts <@ c.reservations THEN
        PERFORM raise_lease_conflict(of_lease, format('a reservation is %s in a lease that is %s', (
            SELECT string_agg(p, ', ') FROM unnest(parts) p WHERE p <> ALL (c.reservations)), stands));
    ELSIF c.one_in <> '' AND c.one_in <> ALL (parts) THEN
        PERFORM raise_lease_conflict(of_lease, format('no reservation is in %s in a lease that is %s', c.one_in, stands));
    ELSIF EXISTS (SELECT FROM lease_events e WHERE e.lease = of_lease AND NOT (
                      e.status = ANY (c.events) AND (e.kind <> 'start_lease' OR e.status = ANY (c.starts))
                      AND (e.kind <> 'end_lease' OR e.status = ANY (c.ends)))) THEN
        PERFORM raise_lease_conflict(of_lease, format('an event does not go with a lease that is %s: %s', stands, (
            SELECT string_agg(e.kind || ' ' || e.status, ', ') FROM lease_events e WHERE e.lease = of_lease)));
    END IF;
END $$;

CREATE OR REPLACE FUNCTION raise_lease_conflict(of_lease text, says text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION '%: %', of_lease, says USING ERRCODE = 'ST003';
END $$;
