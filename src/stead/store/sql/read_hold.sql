-- Whether the cell is held after a restore, since when, how many orders wait for that, and what was released.
SELECT held_since, (SELECT count(*) FROM orders WHERE held) AS orders,
       ARRAY(SELECT path FROM released_paths ORDER BY path) AS released
  FROM cell
