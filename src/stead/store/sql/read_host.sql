SELECT name, lane, properties, node, works, why, added_at FROM hosts WHERE name = $1
