-- Resources at a path and below it that rest and may have changed by themselves, from after one on. What changes seldom
-- ($5) is looked at if it was not for $4 seconds.
SELECT path FROM resources
 WHERE (path = $1 OR (path > $1::text || '/' AND path < $1 || '0')) AND path > $2 AND observe_at IS NOT NULL
   AND operation IS NULL AND (state <> ALL ($5::text[]) OR observed_at IS NULL OR observed_at < now() - make_interval(secs => $4))
 ORDER BY path LIMIT $3
