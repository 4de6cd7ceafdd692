-- Sites on the path $1 and below it whose upgrade has failed and whose agent is not connected.
SELECT path, state, lane, changed_at AS at, coalesce(facts ->> 'agent', '') AS agent FROM resources
 WHERE kind = 'cloudlet' AND state = 'UpdateError' AND NOT condition ? 'connected'
   AND ($1 = '/' OR path = $1 OR (path > $1 || '/' AND path < $1 || '0'))
 ORDER BY changed_at, path LIMIT $2
