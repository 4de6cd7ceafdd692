-- Take lines out of the journal that are in a file.
SELECT archive_journal($1)
