-- Runs of agents that are there for sites that were forgotten, each with the lanes of these.
SELECT c.agent AS name, c.epoch, array_agg(c.lane ORDER BY c.lane) AS lanes
  FROM removed_sites f JOIN connections c ON c.lane = f.lane
 WHERE c.last_seen > now() - make_interval(secs => $1)
   AND NOT EXISTS (SELECT FROM resources r WHERE r.lane = f.lane AND r.kind = 'cloudlet')
 GROUP BY c.agent, c.epoch
