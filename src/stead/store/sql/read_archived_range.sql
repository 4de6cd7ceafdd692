-- Up to which position, and from before which time, lines are in files only.
SELECT last, until, file FROM journal_archives ORDER BY last DESC LIMIT 1
