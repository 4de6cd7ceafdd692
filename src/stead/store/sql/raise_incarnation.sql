-- The database went back in time: every fence from before is void.
UPDATE cell SET incarnation = incarnation + 1 RETURNING incarnation
