-- Agents that were not heard of for a while. Whoever is heard of again while their sites are told has connected anew.
UPDATE connections c SET announced = false
  FROM (SELECT lane, epoch FROM connections WHERE last_seen < now() - make_interval(secs => $1)
         ORDER BY last_seen LIMIT $2 FOR UPDATE SKIP LOCKED) m
 WHERE c.lane = m.lane AND c.epoch = m.epoch
RETURNING c.lane, c.epoch, c.agent, c.notify,
          (SELECT r.path FROM resources r WHERE r.lane = c.lane AND r.kind = 'cloudlet' LIMIT 1) AS path
