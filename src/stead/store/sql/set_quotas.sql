-- The most that something may have of each.
INSERT INTO quotas (path, what, most) SELECT $1, what, most FROM unnest($2::text[], $3::bigint[]) AS m (what, most)
ON CONFLICT (path, what) DO UPDATE SET most = EXCLUDED.most
