-- The indexes of 0007 on resources, and the function that one of them needs.
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_node ON resources ((spec ->> 'node'), path) WHERE kind = 'machine';
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_next_node ON resources ((next_spec ->> 'node'), path)
    WHERE kind = 'machine' AND next_spec IS NOT NULL;
CREATE OR REPLACE FUNCTION machine_of(spec jsonb, facts jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN facts ? 'machine' THEN facts ->> 'machine' ELSE spec ->> 'machine' END
$$;
CREATE INDEX CONCURRENTLY IF NOT EXISTS resources_machine ON resources (machine_of(spec, facts), path) WHERE kind = 'disk';
