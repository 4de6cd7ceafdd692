-- Things of some kinds that were made for others' use, that rest, and that nobody uses.
SELECT r.path FROM resources r
 WHERE r.kind = ANY ($1::text[]) AND r.operation IS NULL AND r.state = ANY ($2::text[]) AND r.spec ? 'madeFor'
   AND NOT EXISTS (SELECT FROM claims c WHERE c.path = r.path)
   AND r.changed_at < now() - make_interval(secs => $3)
 LIMIT $4
