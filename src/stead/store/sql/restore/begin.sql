-- A backup comes back in one transaction, which a migration waits for, and which begins only in an empty database.
BEGIN;
SET client_min_messages = warning;
SELECT pg_advisory_xact_lock(:one_at_a_time);
DO $$ BEGIN
    IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND n.nspname !~ '^pg_'
                  AND n.nspname <> 'information_schema') THEN
        RAISE EXCEPTION 'the database is not empty';
    END IF;
END $$;
