-- A refusal goes to the journal; the same one again within a minute, from the same address, raises its count instead.
WITH again AS (
    UPDATE journal SET rejections = rejections + 1
     WHERE path = $1 AND at > now() - interval '1 minute' AND rejections > 0 AND principal = $3 AND detail = $4
       AND change = $6 AND origin IS NOT DISTINCT FROM nullif($8, '')
    RETURNING 1
)
INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change, rejections, origin, request)
SELECT $1, $2, $3, $7, 'rejected', $4, $5, $5, $6, 1, nullif($8, ''), nullif($9, '') WHERE NOT EXISTS (SELECT FROM again)
