"""The one way in which a state changes: read, decide, commit."""
