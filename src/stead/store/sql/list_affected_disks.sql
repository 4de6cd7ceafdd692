-- Disks that are attached to a machine or lie in the recycle bin with it, a page in order of path, with what policies may
-- read of them.
SELECT d.kind, d.path, d.lane, d.spec -> 'labels' AS labels, '{}'::jsonb AS spec
  FROM resources d WHERE d.kind = 'disk' AND machine_of_disk(d.spec, d.facts) = $1 AND d.path > $2 COLLATE "C"
 ORDER BY d.path LIMIT $3
