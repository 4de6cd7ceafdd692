-- Members that an operation asked and that did not do it, from after one on.
SELECT path FROM operation_members
 WHERE operation = $1 AND outcome NOT IN ('skipped', 'unchanged') AND path > $2 ORDER BY path LIMIT $3
