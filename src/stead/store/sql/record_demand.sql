-- Figures of demand, each for a place or for all. One that is older than what is known is late, and changes nothing; one
-- from the future is from now. The policy is woken where something is new.
WITH told AS (
    INSERT INTO scaling_demand (namespace, name, place, value, at, told_by)
    SELECT s.namespace, s.name, f.place, f.value, least(to_timestamp(f.at), to_timestamp($6)), $7
      FROM scaling s, unnest($3::text[], $4::float8[], $5::float8[]) AS f (place, value, at)
     WHERE s.namespace = $1 AND s.name = $2
    ON CONFLICT (namespace, name, place) DO UPDATE
       SET value = excluded.value, at = excluded.at, told_by = excluded.told_by
     WHERE excluded.at > scaling_demand.at
    RETURNING place
),
woken AS (
    UPDATE scaling SET evaluate_at = 'epoch', woken = woken + 1
     WHERE namespace = $1 AND name = $2 AND EXISTS (SELECT FROM told)
)
SELECT place FROM told
