-- Resources in states that nobody wants them in, in order of path. The states are spelled out, as in their index, or it
-- would not be used.
SELECT path, kind, state, changed_at FROM resources
 WHERE state IN ('Failed', 'Undefined', 'CreateError', 'UpdateError', 'DeleteError', 'ERROR', 'error', 'failed', 'degraded',
                 'Offline')
 ORDER BY path LIMIT $1
