-- Nodes on a lane, each with its state and how many machines are on it, the emptiest first.
SELECT n.path, n.state, (SELECT count(*) FROM machines_on(n.path)) AS machines
  FROM resources n WHERE n.kind = 'node' AND n.lane = $1 ORDER BY machines, n.path
