-- Machines whose disks are to be looked at now. Whoever is told of them has some seconds before another is.
UPDATE attachments a SET due_at = to_timestamp($1 + $3)
  FROM (SELECT machine FROM attachments WHERE due_at <= to_timestamp($1) ORDER BY due_at LIMIT $2
           FOR UPDATE SKIP LOCKED) d
 WHERE a.machine = d.machine
RETURNING a.machine, a.turn, (SELECT m.state FROM resources m WHERE m.path = a.machine) AS state
