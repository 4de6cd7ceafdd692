-- Let a held cell act at a path and below it.
SELECT release_path($1, $2) AS released
