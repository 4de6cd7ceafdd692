-- Remove a queue that takes nothing more, if all that was in it is carried out.
SELECT close_queue($1)
