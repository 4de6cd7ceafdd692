"""What people write in files: YAML with its lines, times, and what is wrong with any of it."""
