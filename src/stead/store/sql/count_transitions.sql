-- Moves in each second from a time on.
SELECT floor(extract(epoch FROM at))::bigint AS second, count(*) AS moves
  FROM journal WHERE at >= $1 AND source <> target AND rejections = 0 GROUP BY 1
