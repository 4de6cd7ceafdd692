CREATE OR REPLACE FUNCTION integer_field(spec jsonb, field text, otherwise bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN spec ->> field ~ '^[0-9]{1,9}$' THEN (spec ->> field)::bigint ELSE otherwise END
$$;

-- What something takes from them.
CREATE OR REPLACE FUNCTION quota_demand(kind text, spec jsonb) RETURNS TABLE (what text, wanted bigint) LANGUAGE sql IMMUTABLE AS $$
    SELECT t.what, t.wanted FROM (VALUES
        ('machine', 'machines', 1), ('machine', 'cpus', integer_field(spec, 'cpu', 1)),
        ('machine', 'memory', integer_field(spec, 'memory', 512)), ('machine', 'storage', integer_field(spec, 'disk', 0)),
        ('disk', 'disks', 1), ('disk', 'storage', integer_field(spec, 'size', 1024))) t (kind, what, wanted)
     WHERE t.kind = quota_demand.kind AND t.wanted > 0
$$;

CREATE OR REPLACE FUNCTION check_quotas(kind text, path text, spec jsonb)
    RETURNS TABLE (path text, what text, used bigint, most bigint, wanted bigint) LANGUAGE sql STABLE AS $$
    SELECT q.path, q.what, q.used, q.most, t.wanted FROM quotas q, quota_demand(check_quotas.kind, spec) t
     WHERE q.path = ANY (ancestors_of(check_quotas.path)) AND q.what = t.what AND q.most IS NOT NULL
     ORDER BY q.path, q.what
$$;

-- A machine or a disk counts from when it begins to be made until it is destroyed.
CREATE OR REPLACE FUNCTION update_quota_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    counts   boolean := NEW.state NOT IN ('VIRTUAL', 'MODELED', 'DESTROYED');
    counted  boolean := TG_OP = 'UPDATE' AND OLD.state NOT IN ('VIRTUAL', 'MODELED', 'DESTROYED');
BEGIN
    IF counts <> counted THEN
        INSERT INTO quotas AS q (path, what, used)
        SELECT above, t.what, CASE WHEN counts THEN t.wanted ELSE -t.wanted END
          FROM unnest(ancestors_of(NEW.path)) above, quota_demand(NEW.kind, NEW.spec) t WHERE above <> '/' ORDER BY 1, 2
        ON CONFLICT (path, what) DO UPDATE SET used = q.used + EXCLUDED.used;
    END IF;
    RETURN NULL;
END $$;
