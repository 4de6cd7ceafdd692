-- What has the name of an app's instances at some places, and the clusters and sites themselves.
SELECT r.path, r.kind, r.state, r.operation IS NOT NULL OR r.hidden IS NOT NULL AS busy, r.spec, r.lane
  FROM unnest($1::text[]) place
  JOIN resources r
    ON r.path = place || '/' || $2 OR (r.path > place || '/' || $2 || '-' AND r.path < place || '/' || $2 || '.')
UNION ALL
SELECT r.path, r.kind, r.state, false, '{}', r.lane FROM resources r
 WHERE r.path = ANY ($1::text[]) OR r.path = ANY (SELECT regexp_replace(place, '/[^/]+$', '') FROM unnest($1::text[]) place)
