"""Requests are accepted or rejected here, before anything changes."""
