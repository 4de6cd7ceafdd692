-- Claims: whole ones are written; those on ancestors are implied.

-- Shared on every ancestor, exclusive on the path (shared for a use), in one order for everybody.
CREATE OR REPLACE FUNCTION lock_paths(taking jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    paths text[] := '{}';
    whole boolean[] := '{}';
    above text[];
    t     jsonb;
    spot  record;
BEGIN
    FOR t IN SELECT value FROM jsonb_array_elements(taking) LOOP
        above := ancestors_of(t ->> 'path');
        paths := paths || (t ->> 'path') || above;
        whole := whole || (t ->> 'mode' = 'x') || array_fill(false, ARRAY[cardinality(above)]);
    END LOOP;
    FOR spot IN
        SELECT path, bool_or(exclusive) AS exclusive FROM unnest(paths, whole) AS u (path, exclusive)
         GROUP BY path ORDER BY path COLLATE "C"
    LOOP
        IF spot.exclusive THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(spot.path, 0));
        ELSE
            PERFORM pg_advisory_xact_lock_shared(hashtextextended(spot.path, 0));
        END IF;
    END LOOP;
END $$;

CREATE OR REPLACE FUNCTION ancestors_of(path text) RETURNS text[] LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    parts text[] := string_to_array(substr(path, 2), '/');
    spot  text := '';
    above text[] := ARRAY['/'];
BEGIN
    FOR i IN 1..cardinality(parts) - 1 LOOP
        spot := spot || '/' || parts[i];
        above := above || spot;
    END LOOP;
    RETURN above;
END $$;

-- Whoever has a claim in the way of these, `except_for` and those that it is `under` apart: an exclusive one above, or any
-- on the path or below it.
-- It sees what its caller sees: beside a row that is read, the claims of the same instant; in a commit, where every
-- statement sees anew, what was committed before the locks were granted.
CREATE OR REPLACE FUNCTION find_holder(taking jsonb, except_for uuid, under uuid[] DEFAULT '{}') RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    t    jsonb;
    held record;
BEGIN
    FOR t IN SELECT value FROM jsonb_array_elements(taking) LOOP
        SELECT h.path, h.operation, coalesce(o.action, 'use') AS action, coalesce(o.principal, h.used_by) AS principal,
               o.created_at, o.request ? 'place' AS beside INTO held
          FROM (
            SELECT * FROM claims WHERE path = ANY (ancestors_of(t ->> 'path')) AND mode = 'x'
            UNION ALL
            SELECT * FROM claims WHERE path = t ->> 'path' AND (mode = 'x' OR t ->> 'mode' = 'x')
            UNION ALL
            SELECT * FROM claims
             WHERE t ->> 'mode' = 'x'
               AND path > rtrim(t ->> 'path', '/') || '/' AND path < rtrim(t ->> 'path', '/') || '0'
          ) h LEFT JOIN operations o ON o.id = h.operation
         WHERE h.operation IS DISTINCT FROM except_for AND h.operation <> ALL (under)
         LIMIT 1;
        IF FOUND THEN
            RETURN jsonb_build_object('operation', held.operation, 'action', held.action, 'path', held.path,
                                      'by', held.principal, 'since', held.created_at, 'beside', held.beside);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;

-- A resource whose operation prepares it begins to use others: all of them or none. Answers with what stands in the way,
-- or with nothing; and with what is not so any more, where the operation is not at that point any more.
CREATE OR REPLACE FUNCTION add_references(user_path text, op uuid, paths text[]) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    taking jsonb := (SELECT jsonb_agg(jsonb_build_object('path', p, 'mode', 'i')) FROM unnest(paths) p);
    holder jsonb;
    own    uuid;
BEGIN
    PERFORM lock_paths(taking);
    SELECT token INTO own FROM resources WHERE path = user_path AND operation = op FOR SHARE;
    IF NOT FOUND THEN
        RETURN jsonb_build_object('action', 'gone');
    END IF;
    holder := find_holder(taking, own);
    IF holder IS NULL THEN
        INSERT INTO claims (path, mode, operation, used_by) SELECT p, 'i', own, user_path FROM unnest(paths) p
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN holder;
END $$;
