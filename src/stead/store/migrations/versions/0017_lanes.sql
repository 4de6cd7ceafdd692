-- Which lanes each namespace may use. Nothing is allowed that does not stand here, the sites of a namespace apart.
CREATE TABLE lane_grants (
    namespace  text COLLATE "C" NOT NULL,         -- '*' is every namespace, also one to come
    lane       text COLLATE "C" NOT NULL,         -- 'aws.*' is every lane that begins with 'aws.'; '*' is every lane
    allowed    boolean NOT NULL,                  -- a denial outranks every grant
    reason     text NOT NULL DEFAULT '',
    changed_by text NOT NULL,
    changed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (namespace, lane)
);

CREATE TRIGGER resources_lanes AFTER INSERT ON resources REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION guard_lanes();

SET LOCAL jit = off;  -- to compile what follows takes longer than to run it

-- What is in use is granted: the lanes of resources, found by jumping from one namespace of a lane to the next; those that
-- the specs of systems and infrastructures name; and those of requests that wait their turn or are under way, deploys with
-- what they define among them.
WITH RECURSIVE steps (lane, path) AS (
    (SELECT lane, path FROM resources WHERE lane > '' ORDER BY lane, path LIMIT 1)
    UNION ALL
    SELECT n.lane, n.path FROM steps s, LATERAL (
        SELECT r.lane, r.path FROM resources r
         WHERE (r.lane, r.path) > (s.lane, '/' || split_part(s.path, '/', 2) || '0')
         ORDER BY r.lane, r.path LIMIT 1) n
), named (path, spec) AS (
    SELECT path, each FROM resources, LATERAL (VALUES (spec), (next_spec)) v (each)
     WHERE kind IN ('system', 'mci', 'subgroup') AND each IS NOT NULL
    UNION ALL
    SELECT path, jsonb_build_object('lane', request -> 'lane') || coalesce(request -> 'spec', '{}') FROM queued
    UNION ALL
    SELECT path, jsonb_build_object('lanes', jsonb_path_query_array(request, '$.spec.definition.**.lane'))
      FROM (SELECT path, kind, request FROM queued UNION ALL SELECT path, kind, request FROM operations) going
     WHERE kind = 'system'
), used (space, lane) AS (
    SELECT split_part(path, '/', 2), lane FROM steps
    UNION
    SELECT split_part(n.path, '/', 2), l.lane FROM named n, LATERAL (
        SELECT n.spec ->> 'lane'
        UNION ALL SELECT n.spec ->> 'provider' || '.' || (n.spec ->> 'region')
        UNION ALL SELECT jsonb_array_elements_text(
            CASE jsonb_typeof(n.spec -> 'lanes') WHEN 'array' THEN n.spec -> 'lanes' ELSE '[]' END)
        UNION ALL SELECT coalesce(g ->> 'provider', n.spec #>> '{defaults,provider}') || '.'
                         || coalesce(g ->> 'region', n.spec #>> '{defaults,region}')
                    FROM jsonb_array_elements(
                        CASE jsonb_typeof(n.spec -> 'subgroups') WHEN 'array' THEN n.spec -> 'subgroups' ELSE '[]' END) g
    ) l (lane)
)
INSERT INTO lane_grants (namespace, lane, allowed, reason, changed_by)
SELECT space, lane, true, 'in use when lanes became a matter of grants', 'upgrade' FROM used
 WHERE lane ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$' AND space NOT IN ('', 'orphans') AND NOT owns_lane(space, lane);
SELECT tell_lane('allow', lane, namespace, changed_by, reason, '{}') FROM lane_grants;
