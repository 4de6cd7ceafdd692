-- A page of policies, in order of namespace and name; with a namespace, of that one.
SELECT s.*, coalesce((SELECT jsonb_object_agg(d.place, jsonb_build_object(
           'value', d.value, 'at', extract(epoch FROM d.at), 'told_by', d.told_by))
         FROM scaling_demand d WHERE d.namespace = s.namespace AND d.name = s.name), '{}') AS demand
  FROM scaling s
 WHERE ($1::text IS NULL OR s.namespace = $1) AND (s.namespace, s.name) > ($2::text, $3::text)
 ORDER BY s.namespace, s.name LIMIT $4
