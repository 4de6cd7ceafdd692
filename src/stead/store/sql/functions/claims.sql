-- Claims: whole ones are written; those on ancestors are implied.

-- Shared on every ancestor, exclusive on the path (shared for a use), in one order for everybody.
CREATE FUNCTION lock_paths(taking jsonb) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    spot record;
BEGIN
    FOR spot IN
        SELECT path, bool_or(exclusive) AS exclusive FROM (
            SELECT t ->> 'path' AS path, t ->> 'mode' = 'x' AS exclusive FROM jsonb_array_elements(taking) t
            UNION ALL
            SELECT unnest(ancestors_of(t ->> 'path')), false FROM jsonb_array_elements(taking) t
        ) spots GROUP BY path ORDER BY path COLLATE "C"
    LOOP
        IF spot.exclusive THEN
            PERFORM pg_advisory_xact_lock(hashtextextended(spot.path, 0));
        ELSE
            PERFORM pg_advisory_xact_lock_shared(hashtextextended(spot.path, 0));
        END IF;
    END LOOP;
END $$;

CREATE FUNCTION ancestors_of(path text) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
    SELECT array_agg(CASE WHEN n = 0 THEN '/' ELSE '/' || array_to_string(parts[1:n], '/') END)
      FROM (SELECT string_to_array(substr(path, 2), '/') AS parts) p,
           generate_series(0, cardinality(parts) - 1) n
$$;

-- Whoever has a claim in the way of these, `except_for` apart: an exclusive one above, or any on the path or below it.
-- It sees what its caller sees: beside a row that is read, the claims of the same instant; in a commit, where every
-- statement sees anew, what was committed before the locks were granted.
CREATE FUNCTION holder_of(taking jsonb, except_for uuid) RETURNS jsonb LANGUAGE plpgsql STABLE AS $$
DECLARE
    t    jsonb;
    held record;
BEGIN
    FOR t IN SELECT value FROM jsonb_array_elements(taking) LOOP
        SELECT h.path, h.operation, o.action, o.principal, o.created_at INTO held
          FROM (
            SELECT * FROM claims WHERE path = ANY (ancestors_of(t ->> 'path')) AND mode = 'x'
            UNION ALL
            SELECT * FROM claims WHERE path = t ->> 'path' AND (mode = 'x' OR t ->> 'mode' = 'x')
            UNION ALL
            SELECT * FROM claims
             WHERE t ->> 'mode' = 'x'
               AND path > rtrim(t ->> 'path', '/') || '/' AND path < rtrim(t ->> 'path', '/') || '0'
          ) h LEFT JOIN operations o ON o.id = h.operation
         WHERE h.operation IS DISTINCT FROM except_for
         LIMIT 1;
        IF FOUND THEN
            RETURN jsonb_build_object('operation', held.operation, 'action', held.action, 'path', held.path,
                                      'by', held.principal, 'since', held.created_at);
        END IF;
    END LOOP;
    RETURN NULL;
END $$;
