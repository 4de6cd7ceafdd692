-- A resource begins to use others.
SELECT use_paths($1, $2, $3) AS held
