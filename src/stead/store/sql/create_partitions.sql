-- Create the partitions of the next days: how many were missing.
SELECT make_partitions($1)
