-- What an operation waits for, or why it is about to fail.
UPDATE operations SET says = $2 WHERE id = $1 AND says <> $2
