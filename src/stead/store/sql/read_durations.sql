-- What is known of how long some moves take: by kind, action, state and lane.
SELECT d.kind, d.action, d.state, d.lane, d.counts, d.samples, d.typical, d.p99
  FROM unnest($1::text[], $2::text[], $3::text[], $4::text[]) AS k (kind, action, state, lane)
  JOIN durations d ON d.kind = k.kind AND d.action = k.action AND d.state = k.state AND d.lane = k.lane
