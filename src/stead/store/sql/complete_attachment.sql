-- All disks of a machine have followed it, unless it has moved again.
DELETE FROM attachments WHERE machine = $1 AND turn = $2
