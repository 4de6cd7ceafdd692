-- What has the name of a policy's instances at some places, and the clusters and sites themselves. A place such as
-- /shop/berlin/k-* is all clusters of that site with that name and a number.
WITH places AS (
    SELECT place FROM unnest($1::text[]) place WHERE right(place, 2) <> '-*'
    UNION
    SELECT r.path FROM unnest($1::text[]) place
      JOIN resources r ON r.path > left(place, -1) AND r.path < left(place, -2) || '.'
     WHERE right(place, 2) = '-*' AND r.kind = 'clusterinst' AND substr(r.path, length(place)) ~ '^[0-9]+$'
),
above AS (
    SELECT place AS path FROM places
    UNION
    SELECT regexp_replace(place, '/[^/]+$', '') FROM unnest($1::text[] || ARRAY(SELECT place FROM places)) place
)
SELECT r.path, r.kind, r.state,
       r.operation IS NOT NULL OR r.hidden IS NOT NULL
       OR r.kind = 'clusterinst' AND EXISTS (
           SELECT FROM resources b WHERE b.path > r.path || '/' AND b.path < r.path || '0') AS busy,
       r.spec, r.lane
  FROM places p
  JOIN resources r
    ON r.path = p.place || '/' || $2 OR (r.path > p.place || '/' || $2 || '-' AND r.path < p.place || '/' || $2 || '.')
UNION ALL
SELECT r.path, r.kind, r.state, false, '{}', r.lane FROM resources r JOIN above USING (path)
