-- A digest of the definitions below a path.
SELECT mark_below($1)
