-- Partitions are made ahead, a day each; what comes when none was made goes to the default one.
CREATE OR REPLACE FUNCTION create_partitions(days integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    parent text;
    first  date;
    made   integer := 0;
BEGIN
    FOREACH parent IN ARRAY ARRAY['journal', 'ended_operations'] LOOP
        FOR i IN 1..days LOOP  -- never today: the default partition may have rows of today
            first := (now() AT TIME ZONE 'utc')::date + i;
            IF to_regclass(format('%I', parent || '_' || to_char(first, 'YYYYMMDD'))) IS NULL THEN
                EXECUTE format(
                    'CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%L) TO (%L)',
                    parent || '_' || to_char(first, 'YYYYMMDD'), parent,
                    first::text || ' 00:00+00', (first + 1)::text || ' 00:00+00');
                made := made + 1;
            END IF;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

-- Whether an operation that has ended long ago is asked for still: it was the last to do anything to something that is there,
-- and did so in the course of another above it, which is who brings it back (list_parts.sql).
CREATE OR REPLACE FUNCTION is_operation_needed(e ended_operations) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT e.outcome = 'succeeded' AND coalesce(e.request ? 'under', false)
       AND EXISTS (SELECT FROM resources r WHERE r.path = e.path)
       AND NOT EXISTS (SELECT FROM ended_operations l
                        WHERE l.path = e.path AND l.outcome = 'succeeded' AND l.ended_at > e.ended_at)
$$;

-- Forget the operations of the first day that there is a partition of, if that is over by a time; its name, or nothing. What
-- takes long comes first: for the partition to go, those who read operations are waited for, and others wait behind.
CREATE OR REPLACE FUNCTION drop_operations(before timestamptz) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    part text;
    over timestamptz;
    kept uuid[];
BEGIN
    IF NOT pg_try_advisory_xact_lock(hashtextextended('drop_operations', 2)) THEN
        RETURN NULL;                                  -- somebody else does so
    END IF;
    SELECT c.relname, d.over INTO part, over
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid,
           LATERAL (SELECT (to_date(right(c.relname, 8), 'YYYYMMDD') + 1)::timestamp AT TIME ZONE 'UTC' AS over) d
     WHERE i.inhparent = 'ended_operations'::regclass AND c.relname ~ '^ended_operations_[0-9]{8}$' AND d.over <= before
     ORDER BY c.relname LIMIT 1;
    IF part IS NULL THEN
        RETURN NULL;
    END IF;
    EXECUTE format('DELETE FROM operation_members WHERE operation IN (SELECT id FROM %I)', part);
    EXECUTE format('SELECT array_agg(id) FROM %I e WHERE request ? ''under'' AND is_operation_needed(e::ended_operations)', part) INTO kept;
    DELETE FROM operation_members WHERE operation IN (SELECT id FROM ended_operations_default WHERE ended_at < over);
    DELETE FROM ended_operations_default e WHERE ended_at < over AND NOT is_operation_needed(e::ended_operations);
    PERFORM set_config('lock_timeout', '500ms', true);
    EXECUTE format('ALTER TABLE ended_operations DETACH PARTITION %I', part);
    EXECUTE format('INSERT INTO ended_operations SELECT * FROM %I WHERE id = ANY ($1)', part) USING kept;
    EXECUTE format('DROP TABLE %I', part);
    RETURN part;
END $$;
