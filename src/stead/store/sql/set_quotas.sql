-- The most that something may have of each, says $4.
WITH made AS (
    INSERT INTO quotas (path, what, most) SELECT $1, what, most FROM unnest($2::text[], $3::bigint[]) AS m (what, most)
    ON CONFLICT (path, what) DO UPDATE SET most = EXCLUDED.most RETURNING *
)
SELECT record_access_change('quota', 'set', $4, jsonb_object_agg(what, most), path) FROM made GROUP BY path
