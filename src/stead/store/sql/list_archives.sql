-- What was taken out of the journal, in order.
SELECT first, last, previous, hash, until, file, sha256, by, at FROM journal_archives ORDER BY first
