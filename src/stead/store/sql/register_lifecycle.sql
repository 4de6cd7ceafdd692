-- Put the document $3 of the kind $1 in force, of which the version was $2; what is in the way, or nothing.
WITH done AS MATERIALIZED (SELECT register_lifecycle($1, $2, $3, $4, $5, $6, $7, $8) AS in_the_way)
SELECT in_the_way, CASE WHEN in_the_way = '[]' THEN
           record_access_change('lifecycle', 'register', $8, jsonb_build_object(
               'kind', $1::text, 'version', $2::bigint + 1, 'sha256', encode(sha256(convert_to($3, 'UTF8')), 'hex'))) END
  FROM done
