-- The namespaces in which there is something, or was. The ways below each are jumped over.
WITH RECURSIVE steps (at) AS (
    (SELECT path FROM counts WHERE path > '/' ORDER BY path LIMIT 1)
    UNION ALL
    SELECT (SELECT c.path FROM counts c
             WHERE c.path > CASE WHEN s.at ~ '^/[^/]+/' THEN '/' || split_part(s.at, '/', 2) || '/~' ELSE s.at END
             ORDER BY c.path LIMIT 1)
      FROM steps s WHERE s.at IS NOT NULL
)
SELECT DISTINCT '/' || split_part(at, '/', 2) AS path FROM steps WHERE at IS NOT NULL ORDER BY path
