"""Healers: small loops that each find one kind of thing out of order and mend it.

A healer takes no input, is idempotent, runs on a timer and on a nudge, and says how much it mended.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from stead.telemetry import metrics

log = logging.getLogger(__name__)


@dataclass
class Healer:
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
            metrics.HEALER_RUNS.labels(self.name).inc()
            try:
                mended = await self.heal()
                self.mended += mended
                metrics.HEALER_MENDED.labels(self.name).inc(mended)
                metrics.HEALER_SUCCESS.labels(self.name).set_to_current_time()
            except Exception as error:
                mended = 0
                self.failures += 1
                metrics.HEALER_FAILURES.labels(self.name).inc()
                self.on_error(self.name, error)
            if mended == 0:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._nudge.wait(), self.every)
            self._nudge.clear()


def told(healer: str, error: Exception) -> None:
    """Log what went wrong."""
    log.warning("%s: %s: %s", healer, type(error).__name__, error)
