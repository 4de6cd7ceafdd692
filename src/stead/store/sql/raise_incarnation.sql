-- The database went back in time: every fence from before is void. The number is of the time, in seconds since 2020, so
-- that whoever goes back to the same moment twice gets another one the second time. Positions of the journal go on after
-- all that can have been given since its last line, at less than 100,000 a second: whoever follows it misses nothing. The line
-- that tells of it is the first after the leap. Numbers of orders begin with the incarnation, since they are part of the
-- tokens under which providers know calls: none is ever given twice.
WITH since AS (
    SELECT extract(epoch FROM now() - coalesce(max(at), now() - interval '10 years')) AS seconds FROM journal
), told AS (
    INSERT INTO journal (path, kind, principal, actor, trigger, detail, source, target, change)
    VALUES ('/', 'cell', 'operator', 'admin', 'access', 'raise', '', '', '{}')
)
UPDATE cell
   SET incarnation = greatest(incarnation + 1, extract(epoch FROM now() - timestamptz '2020-01-01 00:00+00')::integer),
       last_position = last_position + 100000 * greatest(ceil(since.seconds)::bigint, 1)
  FROM since
RETURNING incarnation,
          setval('orders_id_seq', greatest(incarnation * 1000000::bigint, (SELECT last_value FROM orders_id_seq) + 1000000))
