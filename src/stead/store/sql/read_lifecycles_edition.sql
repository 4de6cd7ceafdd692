-- Rises with every lifecycle that is registered or unregistered.
SELECT coalesce(sum(version), 0)::bigint AS edition FROM lifecycles
