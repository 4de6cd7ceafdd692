-- Machines on a node, or on their way to it, and how many there are.
SELECT m.path, m.state, m.lane, m.spec, m.hidden IS NOT NULL AS moves, m.operation IS NOT NULL AS busy,
       count(*) OVER () AS many
  FROM list_machines_on($1) m ORDER BY m.path LIMIT $2
