"""The kinds that are in force: built-in lifecycles, and those that operators register."""
