-- Sites have heard of agents that have connected, each under its notify-id; so none of them is forgotten.
WITH told AS (
    SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS t (lane, epoch, notify)
), known AS (
    DELETE FROM removed_sites f USING told WHERE f.lane = told.lane
)
UPDATE connections c SET announced = true, notify = t.notify FROM told t WHERE c.lane = t.lane AND c.epoch = t.epoch
