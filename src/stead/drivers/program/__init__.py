"""A program of the operator's own, for hosts that are handed over and taken back."""
