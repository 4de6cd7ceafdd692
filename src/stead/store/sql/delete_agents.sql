-- Agents that are gone, as their sites know by now; one that was heard of meanwhile is to be told of anew.
WITH gone AS (
    SELECT * FROM unnest($1::text[], $2::bigint[]) AS t (lane, epoch)
), forgotten AS (
    DELETE FROM connections c USING gone
     WHERE c.lane = gone.lane AND c.epoch = gone.epoch AND c.last_seen < now() - make_interval(secs => $3)
)
UPDATE connections c SET announced = false FROM gone
 WHERE c.lane = gone.lane AND c.epoch = gone.epoch AND c.last_seen >= now() - make_interval(secs => $3)
