-- Let there be no kind $1 any more, says $2; what is in the way, or nothing.
WITH done AS MATERIALIZED (SELECT unregister_lifecycle($1, $2) AS in_the_way)
SELECT in_the_way, CASE WHEN in_the_way = '[]' THEN
           record_access_change('lifecycle', 'unregister', $2, jsonb_build_object('kind', $1::text)) END
  FROM done
