-- Whoever has this row may number the journal.
SELECT FROM cell FOR UPDATE
