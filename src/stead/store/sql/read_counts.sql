-- How many resources of a kind are in which state below some paths, as the numbered part of the journal has it.
SELECT path, state, members FROM counts WHERE path = ANY ($1::text[]) AND kind = $2 AND members > 0 ORDER BY path, state
