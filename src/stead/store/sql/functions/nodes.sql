-- Machines on a node, or on their way to it.
CREATE OR REPLACE FUNCTION list_machines_on(node text) RETURNS TABLE (path text, state text, lane text, spec jsonb, hidden uuid, operation uuid)
    LANGUAGE sql STABLE AS $$
    SELECT r.path, r.state, r.lane, r.spec, r.hidden, r.operation FROM resources r
     WHERE r.kind = 'machine' AND r.spec ->> 'node' = node AND r.state NOT IN ('VIRTUAL', 'DESTROYED')
    UNION
    SELECT r.path, r.state, r.lane, r.spec, r.hidden, r.operation FROM resources r
     WHERE r.kind = 'machine' AND r.next_spec IS NOT NULL AND r.next_spec ->> 'node' = node
       AND r.state NOT IN ('VIRTUAL', 'DESTROYED')
$$;
