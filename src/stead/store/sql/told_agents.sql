-- Sites have heard of agents that have connected, each under its notify-id.
UPDATE connections c SET told = true, notify = t.notify
  FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (lane, epoch, notify)
 WHERE c.lane = t.lane AND c.epoch = t.epoch
