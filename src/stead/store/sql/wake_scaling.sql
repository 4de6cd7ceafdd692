-- Read on in the journal, and wake the policies that a move concerns: of an instance, of its cluster, of the site. One
-- controller at a time reads on; whoever dies on the way has read nothing.
WITH mine AS (SELECT position FROM scaling_follower FOR UPDATE SKIP LOCKED),
     part AS (SELECT m.position AS after, least(c.last_position, m.position + $1) AS upto FROM mine m, cell c),
     moved AS (
        SELECT DISTINCT j.path, j.kind FROM journal j, part p
         WHERE j.position > p.after AND j.position <= p.upto AND j.source <> j.target AND j.refused = 0
           AND j.kind IN ('appinst', 'clusterinst', 'cloudlet')
     ),
     concerned AS (
        SELECT p.namespace, p.name FROM moved m JOIN scaling_places p ON p.place = regexp_replace(m.path, '/[^/]+$', '')
         WHERE m.kind = 'appinst'
        UNION
        SELECT p.namespace, p.name FROM moved m JOIN scaling_places p ON p.place = m.path WHERE m.kind = 'clusterinst'
        UNION
        SELECT p.namespace, p.name FROM moved m JOIN scaling_places p ON p.site = m.path WHERE m.kind = 'cloudlet'
     ),
     woken AS (
        UPDATE scaling s SET look_at = 'epoch', woken = s.woken + 1 FROM concerned c
         WHERE s.namespace = c.namespace AND s.name = c.name
        RETURNING 1
     )
UPDATE scaling_follower f SET position = p.upto FROM part p WHERE p.upto > f.position
RETURNING p.upto - p.after AS read, (SELECT count(*) FROM woken) AS woken
