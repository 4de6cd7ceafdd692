-- Nodes on a lane, each with its state, whether a lease of another namespace than $2 has it now, and how many machines are on it;
-- the emptiest first.
SELECT n.path, n.state, is_node_booked(n.path, $2) AS booked, (SELECT count(*) FROM list_machines_on(n.path)) AS machines
  FROM resources n WHERE n.kind = 'node' AND n.lane = $1 ORDER BY machines, n.path
