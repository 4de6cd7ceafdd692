-- What is under way for longer than 99 of 100 took, or than it is to last at most; what is being looked at, since nobody was
-- heard of; and what has a timer that nobody has fired. Those first that are where they are for the longest time; at most $1,
-- on the path $2 and below it, from after ($3, $4) on. Whoever waits for room or for another is not late.
--
-- Also what waits for an agent that is away: whose order stands on a lane that no agent serves who was heard of in $11 seconds,
-- and an infrastructure that is being prepared on one.
--
-- $5 to $7: kinds, their moving states, and the seconds that these last at most. $8, $9: so many moves are enough to know how
-- long they take, on all lanes and on one. $10: for so many seconds a timer may be late.
WITH declared AS (SELECT * FROM unnest($5::text[], $6::text[], $7::float8[]) AS s (kind, state, seconds)),
     least AS (
        SELECT least((SELECT min(seconds) FROM declared),
                     (SELECT min(p99) FROM durations WHERE samples >= least($8::float8, $9::float8))) AS seconds
     ),
     known AS MATERIALIZED (
        SELECT kind, action, state, lane, p99 FROM durations
         WHERE samples >= CASE WHEN lane = '' THEN $8::float8 ELSE $9::float8 END
     ),
     working AS MATERIALIZED (  -- by itself, or each of them would be compared with every state there is
        SELECT r.id, r.path, r.kind, r.state, r.lane, r.changed_at, r.hidden, coalesce(r.hidden, r.operation) AS operation,
               coalesce(r.condition #>> '{hidden,action}', r.condition #>> '{op,action}') AS action
          FROM resources r
         WHERE (r.operation IS NOT NULL OR r.hidden IS NOT NULL)
           AND (r.changed_at, r.id) > ($3::timestamptz, $4::bigint)
           AND r.changed_at < now() - make_interval(secs => (SELECT seconds FROM least))
           AND ($2 = '/' OR r.path = $2 OR (r.path > $2 || '/' AND r.path < $2 || '0'))
           AND NOT r.timers ? 'waiting'
     ),
     late AS (
        SELECT w.id, w.path, w.changed_at
          FROM (SELECT w.*, s.seconds, coalesce(s.state, '') AS own FROM working w
                  LEFT JOIN declared s ON s.kind = w.kind AND s.state = CASE WHEN w.hidden IS NULL THEN w.state END) w
          LEFT JOIN known l ON l.kind = w.kind AND l.action = w.action AND l.state = w.own AND l.lane = w.lane
          LEFT JOIN known d ON d.kind = w.kind AND d.action = w.action AND d.state = w.own AND d.lane = ''
          LEFT JOIN operations o ON o.id = CASE WHEN w.own = '' THEN w.operation END
         WHERE coalesce(o.created_at, w.changed_at) < now() - make_interval(secs => least(coalesce(l.p99, d.p99), w.seconds))
         ORDER BY w.changed_at, w.id LIMIT $1
     ),
     probed AS (
        SELECT r.id, r.path, r.changed_at FROM resources r
         WHERE (r.condition #>> '{op,phase}' IN ('probing', 'fencing') OR r.condition #>> '{hidden,phase}' IN ('probing', 'fencing'))
           AND (r.changed_at, r.id) > ($3::timestamptz, $4::bigint)
           AND ($2 = '/' OR r.path = $2 OR (r.path > $2 || '/' AND r.path < $2 || '0'))
         ORDER BY r.changed_at, r.id LIMIT $1
     ),
     served AS MATERIALIZED (SELECT unnest(lanes) AS lane FROM agents WHERE last_seen > now() - make_interval(secs => $11)),
     waits AS (
        SELECT r.id, r.path, r.changed_at FROM orders o, unnest(o.members) m (id) JOIN resources r ON r.id = m.id
         WHERE o.lane NOT IN (SELECT lane FROM served) AND r.order_id = o.id
           AND (r.operation IS NOT NULL OR r.hidden IS NOT NULL) AND r.changed_at < now() - make_interval(secs => $10)
           AND (r.changed_at, r.id) > ($3::timestamptz, $4::bigint)
           AND ($2 = '/' OR r.path = $2 OR (r.path > $2 || '/' AND r.path < $2 || '0'))
         ORDER BY r.changed_at, r.id LIMIT $1
     ),
     prepares AS (
        SELECT r.id, r.path, r.changed_at FROM resources r
         WHERE (r.operation IS NOT NULL OR r.hidden IS NOT NULL) AND r.kind = 'mci' AND r.state = 'Preparing'
           AND r.changed_at < now() - make_interval(secs => $10)
           AND (r.changed_at, r.id) > ($3::timestamptz, $4::bigint)
           AND ($2 = '/' OR r.path = $2 OR (r.path > $2 || '/' AND r.path < $2 || '0'))
           AND EXISTS (
            SELECT FROM jsonb_array_elements(
                CASE jsonb_typeof(r.spec -> 'subgroups') WHEN 'array' THEN r.spec -> 'subgroups' ELSE '[]' END) g
             WHERE coalesce(g ->> 'provider', r.spec #>> '{defaults,provider}') || '.'
                   || coalesce(g ->> 'region', r.spec #>> '{defaults,region}') NOT IN (SELECT lane FROM served))
         ORDER BY r.changed_at, r.id LIMIT $1
     ),
     unfired AS (
        SELECT r.id, r.path, r.changed_at FROM resources r
         WHERE r.due < now() - make_interval(secs => $10) AND (r.operation IS NOT NULL OR r.hidden IS NOT NULL)
           AND (r.changed_at, r.id) > ($3::timestamptz, $4::bigint)
           AND ($2 = '/' OR r.path = $2 OR (r.path > $2 || '/' AND r.path < $2 || '0'))
         ORDER BY r.changed_at, r.id LIMIT $1
     )
SELECT path, changed_at, id
  FROM (SELECT * FROM late UNION SELECT * FROM probed UNION SELECT * FROM unfired
        UNION SELECT * FROM waits UNION SELECT * FROM prepares) every
 ORDER BY changed_at, id LIMIT $1
