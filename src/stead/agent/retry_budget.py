"""How often, and how long, an agent retries a call that its provider does not accept."""

from __future__ import annotations

import time

from stead.bus.messages import Order
from stead.drivers.base import RetryableError, ThrottledError, UnreachableError

MAX_PAUSE = 16.0
"""Seconds between two tries to reach a provider, in the end."""

REPORT_MARGIN = 5.0
"""Seconds before a state times out in which the agent reports that nothing was done."""


class RetryBudget:
    """Whether a call is retried: a few times; and until a time, while the provider does nothing."""

    def __init__(self, tries: int, until: float) -> None:
        """`until` is a time of the monotonic clock, which is never set."""
        self._tries = tries
        self._until = until
        self._failures = 0
        self._waits = 0
        self._pause = 1.0

    def left(self, error: RetryableError) -> bool:
        """Whether to call again after this error."""
        if not isinstance(error, ThrottledError | UnreachableError):
            self._failures += 1
            return self._failures < self._tries
        self._waits += 1
        if isinstance(error, UnreachableError):
            error.after = max(error.after, self._pause)
        if time.monotonic() + error.after <= self._until:
            self._pause = min(2 * self._pause, MAX_PAUSE)
            return True
        return self._failures + self._waits < self._tries


def give_up_at(order: Order) -> float:
    """When to give up an order that was received just now and that the provider does not accept: before the state
    times out, so that the agent reports it. By the monotonic clock: the agent's wall clock may be wrong."""
    return time.monotonic() + order.timeout - max(REPORT_MARGIN, order.timeout / 10)
