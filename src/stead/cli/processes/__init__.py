"""The processes of a cell, run until they are told to stop. Each imports what it is made of, and no other."""
