-- Read on in the journal, and count how long the moves took that went well: how many of which kind, action, state and lane
-- were in which span of time. Where more was written than is read in one go, the latest is read and the rest passed over.
-- One controller at a time reads on; whoever dies on the way has read nothing.
--
-- A move goes well as $2 to $5 say: kind, action, the state that is left (none where the visible state stays meanwhile) and
-- the target. It began with the line that led into that state, or with the request. $6: where the spans end.
WITH mine AS (SELECT position FROM durations_follower FOR UPDATE SKIP LOCKED),
     part AS (
        SELECT greatest(m.position, c.last_position - $1) AS after, c.last_position AS upto FROM mine m, cell c
         WHERE c.last_position > m.position
     ),
     reached AS (UPDATE durations_follower f SET position = p.upto FROM part p),
     well AS (SELECT * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS w (kind, action, state, target)),
     ended AS (
        SELECT j.id, j.at, j.path, j.operation, j.kind, j.detail AS action, w.state
          FROM part p, journal j JOIN well w ON w.kind = j.kind AND w.action = j.detail
               AND CASE WHEN w.state = '' THEN j.trigger = 'succeeded' ELSE w.state = j.source AND w.target = j.target END
         WHERE j.position > p.after AND j.position <= p.upto AND j.operation IS NOT NULL AND j.rejections = 0
           AND j.trigger IN ('succeeded', 'started', 'next', 'children')
     ),
     took AS (
        SELECT e.kind, e.action, e.state, coalesce(r.lane, '') AS lane,
               width_bucket(extract(epoch FROM e.at - began.at)::float8, $6::float8[]) AS span
          FROM ended e LEFT JOIN resources r ON r.path = e.path,
               LATERAL (SELECT b.at FROM journal b
                         WHERE b.path = e.path AND b.at <= e.at AND b.at > e.at - interval '2 days' AND b.id < e.id
                           AND b.operation = e.operation
                           AND CASE WHEN e.state = '' THEN b.trigger = 'request' AND b.detail = e.action
                                    ELSE b.target = e.state AND b.source <> b.target END
                         ORDER BY b.at DESC LIMIT 1) began
     )
SELECT kind, action, state, on_lane AS lane, span, count(*) AS moves, (SELECT upto - after FROM part) AS read
  FROM took, LATERAL (SELECT DISTINCT unnest(ARRAY['', lane]) AS on_lane) lanes
 GROUP BY kind, action, state, on_lane, span
UNION ALL
SELECT '', '', '', '', 0, 0, upto - after FROM part
