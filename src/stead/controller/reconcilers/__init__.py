"""Reconcilers: small loops that each find one kind of thing out of order and mend it.

A reconciler takes no input, is idempotent, runs on a timer and on a nudge, and says how much it mended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stead.bus.invalid_messages import LogThrottle
from stead.telemetry import metrics

log = logging.getLogger(__name__)

SELDOM = 10.0
"""Seconds in which the same failure is logged once."""

MAX_KINDS, MAX_ERROR = 100, 300
"""Failures that are told apart, and characters of one."""


@dataclass
class Reconciler:
    """One loop: what it does, and how often."""

    name: str
    every: float
    heal: Callable[[], Awaitable[int]]
    on_error: Callable[[str, Exception], None]
    mended: int = 0
    failures: int = 0
    _nudge: asyncio.Event = field(default_factory=asyncio.Event)

    def nudge(self) -> None:
        """Run soon, whatever the timer says."""
        self._nudge.set()

    async def run(self) -> None:
        """For ever: heal, then wait. What fails is told and tried again the next time."""
        while True:
            metrics.RECONCILER_RUNS.labels(self.name).inc()
            try:
                mended = await self.heal()
                self.mended += mended
                metrics.RECONCILER_REPAIRS.labels(self.name).inc(mended)
                metrics.RECONCILER_SUCCESS.labels(self.name).set_to_current_time()
            except Exception as error:
                mended = 0
                self.failures += 1
                metrics.RECONCILER_FAILURES.labels(self.name).inc()
                self.on_error(self.name, error)
            if mended == 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._nudge.wait(), self.every)
            self._nudge.clear()


class FailureLog:
    """Logs what goes wrong: what fails many loops many times a second, as a database that is away, is one line."""

    def __init__(self, every: float = SELDOM) -> None:
        self.every = every
        self._seldom: dict[str, LogThrottle] = {}

    def __call__(self, healer: str, error: Exception) -> None:
        """Log a failure, unless the same was logged shortly before."""
        says = f"{type(error).__name__}: {error}"[:MAX_ERROR]
        if says not in self._seldom and len(self._seldom) >= MAX_KINDS:
            self._seldom.clear()
        times = self._seldom.setdefault(says, LogThrottle(self.every))()
        if times > 1:
            log.warning("reconciler.failed name=%s error=%r times=%d", healer, says, times)
        elif times:
            log.warning("reconciler.failed name=%s error=%r", healer, says)


told = FailureLog()
"""Shared by all loops of a process, since what fails one usually fails the others as well."""
