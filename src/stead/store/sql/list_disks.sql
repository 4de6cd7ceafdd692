-- Disks that are attached to a machine, and those that lie in the recycle bin with it.
SELECT d.path, d.state, d.lane, d.operation IS NOT NULL AS busy
  FROM resources d WHERE d.kind = 'disk' AND machine_of_disk(d.spec, d.facts) = $1 ORDER BY d.path LIMIT 1000
