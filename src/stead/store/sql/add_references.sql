-- A resource begins to use others.
SELECT add_references($1, $2, $3) AS held
