-- Of some lanes, those that an agent has served.
SELECT DISTINCT lane FROM agents a, unnest(a.lanes) lane WHERE lane = ANY ($1::text[])
