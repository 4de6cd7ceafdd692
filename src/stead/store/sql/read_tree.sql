-- Services and jobs of a system at a place and below it.
SELECT r.path, r.kind, r.state, r.spec, r.lane, r.facts, r.revision, r.operation
  FROM resources r
 WHERE (r.path = $1 OR (r.path > $1 || '/' AND r.path < $1 || '0')) AND r.kind IN ('service', 'job') ORDER BY r.path
