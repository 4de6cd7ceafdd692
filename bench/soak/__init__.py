"""A cell that runs for long at half of what it can do: whatever it uses has to be flat at the end."""
