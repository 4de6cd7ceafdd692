UPDATE hosts SET works = $2, why = $3 WHERE name = $1 RETURNING name, lane, properties, node, works, why, added_at
