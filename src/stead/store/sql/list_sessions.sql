-- Who else is connected to a database of this server.
SELECT pid, usename::text AS role, application_name AS program, host(client_addr) AS host FROM pg_stat_activity
 WHERE datname = $1 AND pid <> pg_backend_pid() AND backend_type = 'client backend' ORDER BY backend_start
