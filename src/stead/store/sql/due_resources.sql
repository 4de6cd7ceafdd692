-- Resources with a timer that is due.
SELECT path FROM resources WHERE due <= to_timestamp($1::float8) ORDER BY due LIMIT $2
