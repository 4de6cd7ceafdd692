-- Agents that are there, and the lanes they serve, a line for each. A word of an earlier run, which came late, changes
-- nothing; but who serves the lane of a site is noted under every run, since two of them are there during an upgrade.
-- A run that a newer one of its name has superseded on a lane has no connection there; the answer names such runs.
-- Nothing is joined here: of what is in arrays PostgreSQL knows nothing, and would compare each with all others.
WITH said AS MATERIALIZED (
    SELECT s.name, s.epoch, s.version, s.successor, string_to_array(s.lanes, E'\n') AS lanes, s.rejected::jsonb AS rejected,
           s.clock_offset
      FROM unnest($1::text[], $2::bigint[], $3::text[], $4::boolean[], $5::text[], $7::text[], $8::float8[])
           AS s (name, epoch, version, successor, lanes, rejected, clock_offset)
), met AS (
    INSERT INTO agents (name, epoch, lanes, version, rejected, clock_offset)
    SELECT DISTINCT ON (s.name) s.name, s.epoch, s.lanes, s.version, s.rejected, s.clock_offset
      FROM said s WHERE NOT s.successor ORDER BY s.name, s.epoch DESC
    ON CONFLICT (name) DO UPDATE
       SET epoch = EXCLUDED.epoch, lanes = EXCLUDED.lanes, version = EXCLUDED.version, rejected = EXCLUDED.rejected,
           clock_offset = EXCLUDED.clock_offset, last_seen = now()
     WHERE agents.epoch <= EXCLUDED.epoch
    RETURNING name, lanes
), served AS (
    INSERT INTO lanes (name) SELECT DISTINCT unnest(lanes) AS lane FROM met ORDER BY lane ON CONFLICT DO NOTHING
), connected AS (
    INSERT INTO connections (lane, epoch, agent, successor)
    SELECT DISTINCT ON (l.lane, s.epoch) l.lane, s.epoch, s.name, s.successor
      FROM said s, unnest(s.lanes) AS l (lane)
     WHERE starts_with(l.lane, $6)
       AND (s.successor OR NOT coalesce((SELECT a.epoch > s.epoch AND l.lane = ANY (a.lanes) FROM agents a
                                          WHERE a.name = s.name), false))
     ORDER BY l.lane, s.epoch
    ON CONFLICT (lane, epoch) DO UPDATE SET last_seen = now(), successor = EXCLUDED.successor
)
SELECT name, epoch, by
  FROM (SELECT s.name, s.epoch, (SELECT a.epoch FROM agents a
                                  WHERE a.name = s.name AND a.epoch > s.epoch AND a.lanes && s.lanes) AS by
          FROM said s WHERE NOT s.successor OFFSET 0) o
 WHERE by IS NOT NULL
