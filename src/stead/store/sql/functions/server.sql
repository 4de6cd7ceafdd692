-- Which PostgreSQL this is: its cluster, and how often a server of it has taken another's place.
CREATE OR REPLACE FUNCTION server_identity() RETURNS text LANGUAGE sql VOLATILE AS $$
    SELECT system_identifier || ':' || left(pg_walfile_name(pg_current_wal_insert_lsn()), 8) FROM pg_control_system()
$$;

-- Said on every new connection before anything else. After a failover every connection is new, and the server that took
-- over may lack what the one before had acknowledged: fences given there could be given again. So they are void, and
-- numbers of orders, which are part of the tokens that providers know, go on after all that can have been given.
CREATE OR REPLACE FUNCTION record_server() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
    here  text := server_identity();
    found integer;
BEGIN
    SELECT incarnation INTO found FROM cell WHERE server = here;
    IF found IS NULL THEN
        UPDATE cell SET incarnation = incarnation + 1, server = here WHERE server NOT IN ('', here);
        IF FOUND THEN
            PERFORM setval('orders_id_seq', (SELECT last_value FROM orders_id_seq) + 1000000);
            INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change)
            VALUES ('/', 'cell', 'controller', 'controller', 'access', 'raise', '', '', jsonb_build_object('server', here));
        END IF;
        UPDATE cell SET server = here WHERE server = '';
        SELECT incarnation INTO found FROM cell;
    END IF;
    RETURN found;
END $$;
