-- A digest of the definitions below a path.
SELECT tree_revision($1)
