-- Systems: operations that run beside others, each with a claim on a place below.

-- Tells what is defined at a place and below it from what was: what there is, as which definition, and what has failed.
CREATE OR REPLACE FUNCTION tree_revision(place text) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT md5(coalesce(string_agg(r.path || ' ' || r.revision || CASE r.state WHEN 'failed' THEN ' !' ELSE '' END, ','
                                   ORDER BY r.path), ''))
      FROM resources r
     WHERE (r.path = place OR (r.path > place || '/' AND r.path < place || '0')) AND r.kind IN ('service', 'job')
$$;

-- Ends operations that run beside others on a resource, releases what they claim, and tells the journal. Those that have
-- nobody left to wait for end as their members did; with an outcome, all of them end, and with that one.
CREATE OR REPLACE FUNCTION end_concurrent(system_path text, end_outcome text DEFAULT NULL, acting_principal text DEFAULT 'controller') RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    many bigint;
BEGIN
    WITH over AS (
        DELETE FROM operations o USING claims c
         WHERE (c.path = system_path OR (c.path > system_path || '/' AND c.path < system_path || '0')) AND o.id = c.operation AND o.path = system_path
           AND o.request ? 'place' AND (end_outcome IS NOT NULL OR (o.expanded AND o.remaining = 0))
        RETURNING o.*, coalesce(end_outcome, CASE WHEN o.request ? 'cancelled' THEN 'cancelled'
                                          WHEN o.failed > 0 OR EXISTS (
                                              SELECT FROM operation_members m WHERE m.operation = o.id) THEN 'failed'
                                          ELSE 'succeeded' END) AS outcome
    ), released AS (
        DELETE FROM claims c USING over WHERE c.operation = over.id
    ), unasked AS (
        DELETE FROM expansions e USING over WHERE e.operation = over.id
    ), unwaited AS (
        DELETE FROM operation_waits q USING over WHERE q.operation = over.id
    ), told AS (
        INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change)
        SELECT over.path, over.kind, over.id, acting_principal, 'controller', 'children', over.action, r.state, r.state,
               jsonb_build_object('outcome', over.outcome, 'place', over.request -> 'place')
          FROM over JOIN resources r ON r.path = over.path
    ), ended AS (
        INSERT INTO ended_operations (id, action, kind, path, principal, reason, request, total, remaining, failed,
                                      created_at, outcome, ended_at, says, orders)
        SELECT id, action, kind, path, principal, reason, request, total, 0, failed, created_at, outcome, now(),
               CASE WHEN says = '' THEN reason_of_operation(id, outcome, total, greatest(failed, 1)) ELSE says END, orders
          FROM over RETURNING 1
    )
    SELECT count(*) INTO many FROM ended;
    RETURN many;
END $$;

-- An operation that runs beside others is to be given up: nobody else is asked, and whoever is at work is cancelled.
CREATE OR REPLACE FUNCTION cancel_concurrent(op uuid, acting_principal text, as_actor text) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    this operations%ROWTYPE;
BEGIN
    UPDATE operations o SET request = o.request || '{"cancelled": true}', expanded = false
     WHERE o.id = op AND o.request ? 'place' AND NOT o.request ? 'cancelled' RETURNING * INTO this;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    INSERT INTO expansions (operation, path, member, after, request) VALUES (op, this.path, '', '', '{"cancels": true}')
    ON CONFLICT (operation) DO UPDATE SET after = '', request = EXCLUDED.request, turn = expansions.turn + 1, at = now();
    INSERT INTO journal (path, kind, operation, principal, actor, trigger, detail, source, target, change)
    SELECT this.path, this.kind, op, acting_principal, as_actor, 'cancel', this.action, r.state, r.state, '{}'
      FROM resources r WHERE r.path = this.path;
    RETURN true;
END $$;
