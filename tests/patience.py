"""How long a test waits for what is to happen."""

from __future__ import annotations

PATIENCE = 90.0
"""Seconds, on a machine that has other things to do. Where a time is what is tested, the test says its own."""
