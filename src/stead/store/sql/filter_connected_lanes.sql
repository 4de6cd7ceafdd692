-- Of some lanes, those that an agent serves who was heard of in $2 seconds.
SELECT DISTINCT lane FROM agents a, unnest(a.lanes) lane
 WHERE lane = ANY ($1::text[]) AND last_seen > now() - make_interval(secs => $2)
