-- Create the partitions of the next days: how many were missing.
SELECT create_partitions($1)
