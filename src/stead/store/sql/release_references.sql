-- A resource uses nothing any more, if nothing is left of it: neither an operation, nor anything of it at a provider.
-- Answers with what nobody uses now. $2: states in which there is nothing at the provider, whatever the kind.
WITH freed AS (
    DELETE FROM claims c WHERE c.used_by = $1 AND NOT EXISTS (
        SELECT FROM resources r WHERE r.path = $1 AND (r.operation IS NOT NULL OR r.lane <> '' OR EXISTS (
            SELECT FROM resources m WHERE m.path > r.path || '/' AND m.path < r.path || '0' AND m.lane <> ''
               AND m.state <> ALL ($2::text[]))))
    RETURNING c.path, c.operation
)
SELECT f.path FROM freed f
 WHERE NOT EXISTS (SELECT FROM claims c WHERE c.path = f.path AND (c.path, c.operation) NOT IN (SELECT * FROM freed))
