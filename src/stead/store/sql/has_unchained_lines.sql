-- Whether there are lines that have positions and no hashes yet.
SELECT h.position < c.last_position FROM journal_head h, cell c
