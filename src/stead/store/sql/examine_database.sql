-- How the database itself is: what an operator would look at first. Nothing in it grows with the number of resources.
SELECT current_setting('server_version') AS version,
       (SELECT version_num FROM alembic_version) AS revision,
       extract(epoch FROM clock_timestamp())::float8 AS now,
       pg_database_size(current_database()) AS size,
       pg_is_in_recovery() AS standby,
       current_setting('synchronous_commit') AS synchronous_commit,
       current_setting('fsync') AS fsync,
       (SELECT count(*) FROM pg_stat_replication) AS standbys,
       (SELECT count(*) FROM pg_stat_replication WHERE sync_state IN ('sync', 'quorum')) AS synchronous,
       (SELECT extract(epoch FROM max(clock_timestamp() - xact_start))::float8 FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend') AS longest,
       (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()) AS connections,
       current_setting('max_connections')::int AS most_connections,
       (SELECT age(datfrozenxid) FROM pg_database WHERE datname = current_database()) AS frozen_age,
       (SELECT coalesce(jsonb_agg(jsonb_build_array(relname, n_dead_tup, n_live_tup) ORDER BY n_dead_tup DESC), '[]')
          FROM pg_stat_user_tables
         WHERE relname IN ('resources', 'operations', 'orders', 'claims', 'counts', 'cell', 'lanes', 'agents')
           AND n_dead_tup > greatest(20000, 2 * n_live_tup)) AS bloated,
       (SELECT count(*) FROM generate_series(1, 7) d
         WHERE to_regclass('journal_' || to_char((now() AT TIME ZONE 'utc')::date + d, 'YYYYMMDD')) IS NOT NULL
           AND to_regclass('ended_operations_' || to_char((now() AT TIME ZONE 'utc')::date + d, 'YYYYMMDD')) IS NOT NULL) AS ahead,
       to_regclass('journal_' || to_char((now() AT TIME ZONE 'utc')::date, 'YYYYMMDD')) IS NOT NULL AS today,
       EXISTS (SELECT FROM journal_default) AS in_default
