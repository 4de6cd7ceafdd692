-- Commit decided changes in one transaction.
SELECT commit_changes($1, $2, $3, $4, $5, $6, $7, $8)
