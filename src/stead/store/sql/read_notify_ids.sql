-- Runs of agents by lane and epoch, each with the notify-id that its site knows it by.
SELECT c.lane, c.epoch, c.notify
  FROM connections c JOIN unnest($1::text[], $2::bigint[]) AS t (lane, epoch) ON c.lane = t.lane AND c.epoch = t.epoch
 WHERE c.notify IS NOT NULL
