"""A whole cell on one machine, for whoever wants to try it or work on it; and what is missing for that."""
