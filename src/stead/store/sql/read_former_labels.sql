-- What the journal says of the labels of resources that were at some paths: a row for each line that brings a spec, in
-- the order in which they were written, with no more than policies may read of it.
SELECT j.path, j.kind, j.at, j.change -> 'spec' -> 'labels' AS labels,
       jsonb_build_object(
           'lane', j.change -> 'spec' -> 'lane', 'lanes', j.change -> 'spec' -> 'lanes',
           'provider', j.change -> 'spec' -> 'provider', 'region', j.change -> 'spec' -> 'region',
           'defaults', j.change -> 'spec' -> 'defaults', 'subgroups', j.change -> 'spec' -> 'subgroups') AS spec
  FROM journal j WHERE j.path = ANY ($1::text[]) AND j.change ? 'spec' ORDER BY j.path, j.at, j.id
