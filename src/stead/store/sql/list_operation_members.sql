-- Members of an operation that did not do what it asked, or could not be asked, in order of path.
SELECT path, outcome, says, at FROM operation_members WHERE operation = $1 AND path > $2 ORDER BY path LIMIT $3
