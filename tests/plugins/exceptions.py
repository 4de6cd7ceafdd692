"""Tests of the fast tier that may cost more than the budget, each with the reason. At most forty."""

from __future__ import annotations

EXCEPTIONS: dict[str, str] = {}
"""The beginning of a test's node id, and why it may take longer."""
