-- Read on in the journal, and note the machines whose disks are to follow them. One controller at a time reads on;
-- whoever dies on the way has read nothing.
WITH mine AS (SELECT position FROM attachments_follower FOR UPDATE SKIP LOCKED),
     part AS (SELECT m.position AS after, least(c.last_position, m.position + $1) AS upto FROM mine m, cell c),
     moved AS (
        SELECT DISTINCT j.path FROM journal j, part p
         WHERE j.position > p.after AND j.position <= p.upto AND j.kind = 'machine' AND j.source <> j.target
           AND j.target IN ('DELETED', 'HALTED', 'DESTROYED') AND j.rejections = 0
     ),
     noted AS (
        INSERT INTO attachments (machine) SELECT path FROM moved ORDER BY path
        ON CONFLICT (machine) DO UPDATE SET turn = attachments.turn + 1, due_at = 'epoch'
     )
UPDATE attachments_follower f SET position = p.upto FROM part p WHERE p.upto > f.position
RETURNING p.upto - p.after AS read
