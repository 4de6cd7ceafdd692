-- Below paths nothing of a kind is left: so nothing is to be counted there, and groups that come and go leave no trace. What is
-- below a namespace stays, since that is how namespaces are known.
DELETE FROM counts c USING unnest($1::text[], $2::text[]) AS gone (path, kind)
 WHERE c.path = gone.path AND c.kind = gone.kind
   AND NOT EXISTS (SELECT FROM counts k WHERE k.path = gone.path AND k.kind = gone.kind AND k.members <> 0)
