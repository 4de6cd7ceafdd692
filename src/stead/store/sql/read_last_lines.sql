-- The last lines of the journal about each path $1 and operation $2, from a minute before $3 on; at most $4 of each, in order.
SELECT p.path, l.at, l.actor, l.trigger, l.detail, l.source, l.target, l.change
  FROM unnest($1::text[], $2::uuid[], $3::timestamptz[]) AS p (path, operation, since),
       LATERAL (SELECT j.at, j.id, j.actor, j.trigger, j.detail, j.source, j.target, j.change FROM journal j
                 WHERE j.path = p.path AND j.at >= p.since - interval '1 minute' AND j.operation = p.operation AND j.rejections = 0
                 ORDER BY j.at DESC LIMIT $4) l
 ORDER BY p.path, l.at, l.id
