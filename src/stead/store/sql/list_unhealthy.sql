-- Resources in states that nobody wants them in, below each of the paths $2, in order of path. The states are spelled out,
-- as in their index, or it would not be used.
SELECT b.path, b.kind, b.state, b.changed_at
  FROM unnest($2::text[]) n (path),
       LATERAL (SELECT path, kind, state, changed_at FROM resources
                 WHERE state IN ('Failed', 'Undefined', 'CreateError', 'UpdateError', 'DeleteError', 'ERROR', 'error', 'failed',
                                 'degraded', 'Offline')
                   AND path > n.path || '/' AND path < n.path || '0'
                 ORDER BY path LIMIT $1) b
 ORDER BY b.path LIMIT $1
