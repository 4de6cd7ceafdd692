-- Runs of agents, by name and epoch, whose name a newer run has by now; each with the lanes that the newer one serves.
SELECT r.name, r.epoch, a.lanes
  FROM unnest($1::text[], $2::bigint[]) AS r (name, epoch), LATERAL (
       SELECT k.lanes FROM agents k WHERE k.name = r.name AND k.epoch > r.epoch OFFSET 0) a
