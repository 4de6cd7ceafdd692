"""What is worth nothing is counted, and told once in a while: whoever sends much of it fills no log."""

from __future__ import annotations

import logging
import time

log = logging.getLogger(__name__)

LOG_INTERVAL = 10.0
"""Seconds between two words about the same."""


class LogThrottle:
    """Says whether to speak now, and how often there was a reason to since one last did."""

    def __init__(self, every: float = LOG_INTERVAL) -> None:
        self.every = every
        self._since = 0
        self._next = 0.0

    def __call__(self) -> int:
        """How often, where it is time to speak; 0 where it is not."""
        self._since += 1
        now = time.monotonic()
        if now < self._next:
            return 0
        self._next = now + self.every
        times, self._since = self._since, 0
        return times


class InvalidMessages:
    """Counts what came over the bus and was not believed."""

    def __init__(self) -> None:
        self.count = 0
        self._seldom = LogThrottle()

    def note(self, where: str, why: str) -> None:
        """One more."""
        self.count += 1
        if times := self._seldom():
            log.warning("%d messages were worth nothing; the last, on %s: %s", times, where[:200], why[:300])
