-- So many lanes that an agent has served and that a namespace may use, in order of name.
SELECT lane FROM (SELECT DISTINCT lane FROM agents a, unnest(a.lanes) lane) served
 WHERE may_use_lane($1, lane) ORDER BY lane LIMIT $2
