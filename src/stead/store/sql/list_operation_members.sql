-- Members of an operation that did not do what it asked, or could not be asked, and those that it waits for because they
-- joined another one, in order of path.
SELECT path, outcome, says, at FROM (
    SELECT path, outcome, says, at FROM operation_members WHERE operation = $1 AND path > $2
    UNION ALL
    SELECT path, 'joined', 'operation ' || joined || ' is in progress on it', at FROM operation_waits
     WHERE operation = $1 AND path > $2) m
 ORDER BY path LIMIT $3
