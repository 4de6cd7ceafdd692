-- Subgroups of infrastructures that are no more.
SELECT s.path FROM resources s
 WHERE s.kind = 'subgroup' AND s.operation IS NULL
   AND NOT EXISTS (SELECT FROM resources m WHERE m.path = regexp_replace(s.path, '/[^/]+$', ''))
 LIMIT $1
