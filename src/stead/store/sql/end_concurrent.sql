-- End the concurrent operations that no other operation waits for: how many.
SELECT end_concurrent($1)
