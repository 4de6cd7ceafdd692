-- Forget the operations of a day that was over $1 seconds ago.
SELECT drop_operations(now() - make_interval(secs => $1)) AS part
