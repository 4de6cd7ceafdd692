-- Of nodes ($1), each with the namespace of a machine that is to be put on it ($2), those that a lease of another namespace has now.
SELECT u.node, u.namespace FROM unnest($1::text[], $2::text[]) u (node, namespace) WHERE is_node_booked(u.node, u.namespace)
