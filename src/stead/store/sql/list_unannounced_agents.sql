-- Agents that have connected from a site which has not heard of it yet, or which was made since; each with the notify-id
-- that it gets. An earlier run of the same agent, whose word came late, is not among them. Only so many are met at a
-- time: where all come at once, the others wait their turn. Whoever was met long ago and says nothing is not waited for.
SELECT c.lane, c.epoch, c.agent, c.successor, r.path,
       (SELECT a.version FROM agents a WHERE a.name = c.agent AND a.epoch = c.epoch) AS version,
       greatest(c.epoch, (r.condition ->> 'notify')::bigint + 1, (r.condition ->> 'successor')::bigint + 1) AS notify
  FROM (SELECT u.lane FROM connections u WHERE NOT u.announced
        UNION
        SELECT e.lane FROM resources e
         WHERE e.kind = 'cloudlet' AND e.state = 'Init' AND NOT e.condition ? 'connected') l
  JOIN connections c ON c.lane = l.lane
  JOIN resources r ON r.lane = l.lane AND r.kind = 'cloudlet'
 WHERE c.last_seen > now() - make_interval(secs => $1) AND (NOT c.announced OR NOT r.condition ? 'notify')
   AND NOT EXISTS (SELECT FROM agents a WHERE a.name = c.agent AND a.epoch > c.epoch AND c.lane = ANY (a.lanes))
 ORDER BY c.lane, c.epoch
 LIMIT greatest(0, $2 - (SELECT count(*) FROM resources m
                          WHERE m.kind = 'cloudlet' AND m.state IN ('Init', 'InitOk') AND m.condition ? 'connected'
                            AND m.changed_at > now() - make_interval(secs => $1)))
