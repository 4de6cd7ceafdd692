-- Groups of some kinds that nothing is done to, each with how many VMs are in which state, as the numbered journal has it.
SELECT r.path, r.kind, r.state,
       (SELECT coalesce(jsonb_object_agg(c.state, c.members), '{}') FROM counts c
         WHERE c.path = r.path AND c.kind = 'vm' AND c.members > 0) AS counts
  FROM resources r WHERE r.path = ANY ($1::text[]) AND r.kind = ANY ($2::text[]) AND r.operation IS NULL
