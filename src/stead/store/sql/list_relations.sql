-- What is in a database that is not PostgreSQL's own: tables, views and sequences, a few of them by name.
SELECT n.nspname || '.' || c.relname AS name FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
 WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY n.nspname <> 'public', c.relname LIMIT $1
