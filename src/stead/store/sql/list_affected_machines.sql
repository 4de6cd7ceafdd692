-- Machines on a node or on their way to it, a page in order of path, with what policies may read of them.
SELECT 'machine' AS kind, m.path, m.lane, m.spec -> 'labels' AS labels, '{}'::jsonb AS spec
  FROM list_machines_on($1) m WHERE m.path > $2 COLLATE "C" ORDER BY m.path LIMIT $3
