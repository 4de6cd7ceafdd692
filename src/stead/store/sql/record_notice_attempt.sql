-- A notice was delivered ($3 is empty), or not, and why; and when it is tried again, if it is. The event says the same, unless
-- it waits for a new time.
WITH told AS (
    UPDATE lease_notices SET error = $3, next_at = to_timestamp($4),
           delivered_at = CASE WHEN $3 = '' THEN to_timestamp($2) END
     WHERE id = $1
    RETURNING lease, made_at, says ->> 'event' AS event
)
UPDATE lease_events e SET status = CASE WHEN $3 = '' THEN 'DONE' ELSE 'ERROR' END
  FROM told WHERE e.lease = told.lease AND e.id::text = told.event AND e.status IN ('IN_PROGRESS', 'ERROR')
   AND NOT EXISTS (SELECT FROM lease_notices n WHERE n.lease = told.lease AND n.made_at > told.made_at)
