-- Operations on groups that somebody has to go on with, once they have stood still for some seconds.
SELECT ARRAY(SELECT e.operation FROM expansions e WHERE e.at < now() - interval '5 seconds' LIMIT 100) AS expanding,
       ARRAY(SELECT o.path FROM operations o WHERE o.remaining = 0 AND o.expanded
                AND o.created_at < now() - interval '5 seconds' LIMIT 100) AS counted
