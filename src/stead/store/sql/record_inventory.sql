-- Lanes have told all that they have: that is wanted again after some time.
WITH told AS (SELECT name FROM lanes WHERE name = ANY ($1::text[]) ORDER BY name FOR UPDATE)
UPDATE lanes SET inventory_at = now() + make_interval(secs => $2) FROM told WHERE lanes.name = told.name
