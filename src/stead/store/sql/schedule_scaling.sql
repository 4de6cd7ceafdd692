-- Read on in the journal, and wake the policies that a move concerns: of an instance, of its cluster, of the site, and for
-- clusters of an app in one. One controller at a time reads on; one that dies on the way has read nothing.
WITH mine AS (SELECT position FROM scaling_follower FOR UPDATE SKIP LOCKED),
     part AS (SELECT m.position AS after, least(c.last_position, m.position + $1) AS upto FROM mine m, cell c),
     moved AS (
        SELECT DISTINCT j.path, j.kind FROM journal j, part p
         WHERE j.position > p.after AND j.position <= p.upto AND j.source <> j.target AND j.rejections = 0
           AND j.kind IN ('appinst', 'clusterinst', 'cloudlet')
     ),
     at AS (
        SELECT kind, CASE kind WHEN 'appinst' THEN regexp_replace(path, '/[^/]+$', '') ELSE path END AS place FROM moved
     ),
     concerned AS (
        SELECT p.namespace, p.name FROM at JOIN scaling_places p
            ON p.place IN (at.place, regexp_replace(at.place, '-[0-9]+$', '-*'), regexp_replace(at.place, '/[^/]+$', ''))
         WHERE at.kind <> 'cloudlet'
        UNION
        SELECT p.namespace, p.name FROM at JOIN scaling_places p ON p.place = at.place WHERE at.kind = 'cloudlet'
        UNION
        SELECT p.namespace, p.name FROM at JOIN scaling_places p ON p.site = at.place WHERE at.kind = 'cloudlet'
     ),
     woken AS (
        UPDATE scaling s SET evaluate_at = 'epoch', woken = s.woken + 1 FROM concerned c
         WHERE s.namespace = c.namespace AND s.name = c.name
        RETURNING 1
     )
UPDATE scaling_follower f SET position = p.upto FROM part p WHERE p.upto > f.position
RETURNING p.upto - p.after AS read, (SELECT count(*) FROM woken) AS woken
