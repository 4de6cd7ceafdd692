"""The command line: a file a noun, results on stdout, all else on stderr."""
