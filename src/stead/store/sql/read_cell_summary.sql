-- What the cell knows of itself, whole, and what its schema is: for the manifest of a backup.
SELECT to_jsonb(cell)::text AS cell, (SELECT version_num FROM alembic_version) AS revision,
       (SELECT count(*) FROM resources) AS resources, (SELECT count(*) FROM operations) AS operations,
       (SELECT count(*) FROM queued) AS queued, current_database() AS database,
       (SELECT system_identifier::text FROM pg_control_system()) AS system, now() AS at, version() AS server
  FROM cell
