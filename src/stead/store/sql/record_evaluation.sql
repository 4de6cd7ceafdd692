-- What a policy is about to do, or what became of it; only if nobody else has written since. It is looked at again when
-- it says, or at once where something new came meanwhile.
UPDATE scaling
   SET turn = turn + 1, acts = $5, deeds = $6, verdict = $7,
       evaluate_at = CASE WHEN woken = $4 THEN to_timestamp($8::float8) ELSE 'epoch' END
 WHERE namespace = $1 AND name = $2 AND turn = $3
RETURNING turn
