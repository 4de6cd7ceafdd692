-- A site is forgotten: an agent that comes back for it is told so, and no agent is waited for that was there.
WITH site AS (
    SELECT r.lane, r.path FROM resources r WHERE r.path = $1
), gone AS (
    DELETE FROM connections c USING site WHERE c.lane = site.lane
)
INSERT INTO removed_sites (lane, path) SELECT lane, path FROM site
ON CONFLICT (lane) DO UPDATE SET path = excluded.path, removed_at = now()
