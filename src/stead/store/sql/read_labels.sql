-- Resources by path, with no more than policies may read of them.
SELECT r.path, r.kind, r.lane, r.created_at AS at, r.spec -> 'labels' AS labels,
       CASE WHEN r.lane = '' THEN jsonb_build_object(
           'lane', r.spec -> 'lane', 'lanes', r.spec -> 'lanes', 'provider', r.spec -> 'provider',
           'region', r.spec -> 'region', 'defaults', r.spec -> 'defaults', 'subgroups', r.spec -> 'subgroups')
       ELSE '{}' END AS spec
  FROM resources r WHERE r.path = ANY ($1::text[])
