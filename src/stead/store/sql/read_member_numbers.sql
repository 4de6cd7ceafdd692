-- How many members of a kind a group has, the highest of the numbers that are names, and the one in place $3 from there.
SELECT count(*) AS members, coalesce(max(n), 0) AS last, (array_agg(n ORDER BY n DESC NULLS LAST))[$3::int] AS nth
  FROM (SELECT CASE WHEN path ~ '/[0-9]{1,15}$' THEN substring(path FROM '[0-9]+$')::bigint END AS n FROM resources
         WHERE kind = $1 AND path > $2::text || '/' AND path < $2 || '0') m
