-- What was in progress is probed, and nothing else is ordered until an operator releases it.
SELECT recover_cell(:custody, :hold::boolean);
