-- Policies by namespace and name, with the figures that there are.
SELECT s.*, coalesce((SELECT jsonb_object_agg(d.place, jsonb_build_object(
           'value', d.value, 'at', extract(epoch FROM d.at), 'told_by', d.told_by))
         FROM scaling_demand d WHERE d.namespace = s.namespace AND d.name = s.name), '{}') AS demand
  FROM scaling s WHERE s.namespace = $1 AND s.name = $2
