-- Which lanes a namespace may use. A row of `lane_grants` allows or denies; a denial outranks every grant. A namespace owns
-- the lanes of its own sites, `edge.NAMESPACE.SITE`, unless one of them is denied.
--
-- These are functions of plpgsql: a body in SQL would be read when it is made, which may be before the table is there.

-- All that a grant of a lane may be called: itself, and with a wildcard in the place of its last segments.
CREATE OR REPLACE FUNCTION lane_patterns(lane text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    parts text[] := string_to_array(lane, '.');
    found text[] := ARRAY[lane, '*'];
BEGIN
    FOR i IN 1 .. cardinality(parts) - 1 LOOP
        found := found || (array_to_string(parts[1:i], '.') || '.*');
    END LOOP;
    RETURN found;
END $$;

-- Whether a pattern stands for all that another one stands for, or for a name.
CREATE OR REPLACE FUNCTION pattern_covers(pattern text, other text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN pattern = '*' OR pattern = other OR (right(pattern, 2) = '.*' AND starts_with(other, left(pattern, -1)));
END $$;

CREATE OR REPLACE FUNCTION may_use_lane(namespace_name text, lane_name text) RETURNS boolean LANGUAGE plpgsql STABLE AS $$
DECLARE
    said boolean;
BEGIN
    SELECT bool_and(g.allowed) INTO said FROM lane_grants g
     WHERE g.namespace IN (namespace_name, '*') AND g.lane = ANY (lane_patterns(lane_name));
    RETURN coalesce(said, owns_lane(namespace_name, lane_name));
END $$;

CREATE OR REPLACE FUNCTION owns_lane(namespace_name text, lane_name text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN split_part(lane_name, '.', 1) = 'edge' AND split_part(lane_name, '.', 2) = namespace_name
       AND split_part(lane_name, '.', 3) <> '' AND split_part(lane_name, '.', 4) = '';
END $$;

-- Those of some lanes that a namespace may not use, and, where there is one, some of those that it may use; null where it
-- may use all of them. `uses` is {"of": namespace, "on": lanes}, with `books` where hosts of some lane are to be had.
CREATE OR REPLACE FUNCTION find_denied_lanes(uses jsonb) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    namespace_name text := uses ->> 'of';
    bad   jsonb;
BEGIN
    SELECT jsonb_agg(l ORDER BY l) INTO bad FROM jsonb_array_elements_text(uses -> 'on') l WHERE NOT may_use_lane(namespace_name, l);
    IF bad IS NULL AND uses ? 'books' AND NOT EXISTS (SELECT FROM hosts h WHERE may_use_lane(namespace_name, h.lane)) THEN
        SELECT jsonb_agg(lane ORDER BY lane) INTO bad FROM (SELECT DISTINCT lane FROM hosts LIMIT 5) of_hosts;
    END IF;
    IF bad IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN jsonb_build_object('conflict', 'lane', 'namespace', namespace_name, 'lanes', bad,
                              'allowed', list_usable_lanes(namespace_name, 21));
END $$;

-- So many of the lanes that a namespace may use: what it was given, and its sites.
CREATE OR REPLACE FUNCTION list_usable_lanes(namespace_name text, max_lanes integer) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN (SELECT coalesce(jsonb_agg(lane ORDER BY lane), '[]') FROM (
        SELECT DISTINCT lane FROM (
            SELECT g.lane::text FROM lane_grants g
             WHERE g.namespace IN (namespace_name, '*') AND g.allowed AND may_use_lane(namespace_name, g.lane)
            UNION ALL
            (SELECT r.lane FROM resources r
              WHERE r.kind = 'cloudlet' AND r.path > '/' || namespace_name || '/' AND r.path < '/' || namespace_name || '0'
                AND may_use_lane(namespace_name, r.lane)
              ORDER BY r.path LIMIT max_lanes)) all_of_them
         ORDER BY lane LIMIT max_lanes) found);
END $$;

-- The last guard: no row gets a lane that its namespace may not use, whichever way it was made. What is adopted only to be
-- removed lies in a namespace of its own, and may be anywhere.
CREATE OR REPLACE FUNCTION check_lanes() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    refused jsonb;
BEGIN
    SELECT find_denied_lanes(jsonb_build_object('of', namespace_name, 'on', jsonb_agg(lane))) INTO refused
      FROM (SELECT DISTINCT split_part(path, '/', 2) AS namespace_name, lane FROM made WHERE lane <> '') d
     WHERE namespace_name <> 'orphans' AND NOT may_use_lane(namespace_name, lane)
     GROUP BY namespace_name LIMIT 1;
    IF refused IS NOT NULL THEN
        RAISE EXCEPTION 'namespace % may not use the lane %', refused ->> 'namespace', refused -> 'lanes' ->> 0
              USING ERRCODE = 'ST005', DETAIL = refused::text;
    END IF;
    RETURN NULL;
END $$;

-- From now on a namespace may use a lane. Where a broader denial stands, nothing is done, and that one is answered. A lane
-- that is given to all stays denied to whom it was denied by name; these are answered, too.
CREATE OR REPLACE FUNCTION allow_lane(on_lane text, namespace_name text, acting_principal text, given_reason text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    stands record;
    made   boolean;
BEGIN
    SELECT * INTO stands FROM lane_grants g
     WHERE NOT g.allowed AND pattern_covers(g.namespace, namespace_name) AND pattern_covers(g.lane, on_lane)
       AND (g.namespace, g.lane) <> (namespace_name, on_lane)
     ORDER BY g.namespace, g.lane LIMIT 1;
    IF FOUND THEN
        RETURN jsonb_build_object('denied', jsonb_build_object('namespace', stands.namespace, 'lane', stands.lane));
    END IF;
    DELETE FROM lane_grants g
     WHERE NOT g.allowed AND g.namespace = namespace_name AND pattern_covers(on_lane, g.lane);
    INSERT INTO lane_grants (namespace, lane, allowed, reason, changed_by)
    VALUES (namespace_name, on_lane, true, given_reason, acting_principal)
    ON CONFLICT DO NOTHING;
    made := FOUND;
    IF made THEN
        PERFORM record_lane_change('allow', on_lane, namespace_name, acting_principal, given_reason, '{}');
    END IF;
    RETURN jsonb_build_object('changed', made, 'except', (
        SELECT coalesce(jsonb_agg(DISTINCT g.namespace), '[]') FROM lane_grants g
         WHERE namespace_name = '*' AND NOT g.allowed AND pattern_covers(on_lane, g.lane)));
END $$;

-- From now on a namespace may not use a lane: what was given of it is taken away, and where something broader would still
-- allow it, a denial is put beside that. Whoever is about to commit a use of it is waited for, and whoever commits one later
-- sees this.
CREATE OR REPLACE FUNCTION deny_lane(on_lane text, namespace_name text, acting_principal text, given_reason text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    taken jsonb;
    made  boolean := false;
BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(CASE namespace_name WHEN '*' THEN '/' ELSE '/' || namespace_name END, 0));
    WITH gone AS (
        DELETE FROM lane_grants g
         WHERE g.allowed AND pattern_covers(namespace_name, g.namespace) AND pattern_covers(on_lane, g.lane) RETURNING g.*)
    SELECT coalesce(jsonb_agg(jsonb_build_object('lane', lane, 'namespace', namespace) ORDER BY namespace, lane), '[]')
      INTO taken FROM gone;
    IF EXISTS (SELECT FROM lane_grants g
                WHERE g.allowed AND (pattern_covers(g.namespace, namespace_name) OR pattern_covers(namespace_name, g.namespace))
                  AND (pattern_covers(g.lane, on_lane) OR pattern_covers(on_lane, g.lane)))
       OR may_own_lane(on_lane, namespace_name) THEN
        INSERT INTO lane_grants (namespace, lane, allowed, reason, changed_by)
        VALUES (namespace_name, on_lane, false, given_reason, acting_principal)
        ON CONFLICT DO NOTHING;
        made := FOUND;
    END IF;
    IF made OR taken <> '[]' THEN
        PERFORM record_lane_change('deny', on_lane, namespace_name, acting_principal, given_reason,
                                   jsonb_build_object('taken', taken, 'outranks', made));
    END IF;
    RETURN jsonb_build_object('changed', made OR taken <> '[]', 'taken', taken, 'outranks', made);
END $$;

-- Whether some lane that a pattern stands for may be the one of a site of some namespace that the other stands for.
CREATE OR REPLACE FUNCTION may_own_lane(on_lane text, namespace_name text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN on_lane = '*' OR on_lane = 'edge.*'
        OR (split_part(on_lane, '.', 1) = 'edge' AND pattern_covers(namespace_name, split_part(on_lane, '.', 2)));
END $$;

CREATE OR REPLACE FUNCTION record_lane_change(
    event_name text, on_lane text, namespace_name text, acting_principal text, given_reason text, details jsonb
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM record_access_change('lane', event_name, acting_principal,
                        jsonb_build_object('lane', on_lane, 'namespace', namespace_name, 'reason', given_reason) || details,
                        CASE namespace_name WHEN '*' THEN '/' ELSE '/' || namespace_name END);
END $$;
