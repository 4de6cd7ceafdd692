-- How far the chain of hashes has come, and where it began.
SELECT h.after, h.began_at, h.position, h.hash, c.last_position FROM journal_head h, cell c
