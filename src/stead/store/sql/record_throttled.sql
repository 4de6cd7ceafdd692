-- A provider has refused so many calls on a lane because there were too many.
UPDATE lanes SET throttled = throttled + $2, throttled_at = now() WHERE name = $1
