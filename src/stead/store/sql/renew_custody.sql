-- Puts the end of custody off for members that are still worked on under the fence they were taken with; not for a
-- run of an agent that a newer one has superseded on their lane.
UPDATE resources r
   SET timers = r.timers || jsonb_build_object('custody', $5::float8),
       due = to_timestamp((SELECT min(value::float8)
                             FROM jsonb_each_text(r.timers || jsonb_build_object('custody', $5::float8))))
  FROM unnest($1::text[], $2::integer[], $3::bigint[]) AS held (path, incarnation, fence), cell
 WHERE r.path = held.path AND cell.incarnation = held.incarnation AND r.fence = held.fence
   AND r.timers ? 'custody'
   AND EXISTS (SELECT FROM orders o WHERE o.id = r.order_id AND o.agent = $4 AND o.epoch = $6)
   AND NOT EXISTS (SELECT FROM agents a WHERE a.name = $4 AND a.epoch > $6 AND r.lane = ANY (a.lanes))
RETURNING r.path
