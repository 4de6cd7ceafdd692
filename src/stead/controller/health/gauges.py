"""The cell as a whole in numbers, read from its database when somebody wants them, and not too often."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from stead.store import Store
from stead.telemetry import metrics

log = logging.getLogger(__name__)

REFRESH_SECONDS = 5.0
"""Seconds for which what was read is as good as new, however many ask."""

TIMEOUT_SECONDS = 3.0
"""Seconds that a reading may take."""

MAX_COUNTED = 10_000
CONNECTED_SECONDS = 30.0


type Look = Callable[[], Awaitable[Mapping[str, Any] | None]]
"""How the bus is; None where it is away."""


async def _no_bus() -> None:
    """There is none."""


class Gauges:
    """Reads the cell by one statement."""

    def __init__(self, store: Store, bus: Look = _no_bus, every: float = REFRESH_SECONDS) -> None:
        self.store = store
        self.bus = bus
        self.every = every
        self._at = -math.inf
        self._one = asyncio.Lock()

    async def refresh(self) -> None:
        """Read, unless somebody has just done so. Where nobody can, the numbers are none, and not the old ones."""
        async with self._one:
            metrics.REGISTRY.reads_cell = True
            began = time.monotonic()
            if began - self._at < self.every:
                return
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    read = await self.store.diagnostics.read_gauges(MAX_COUNTED, CONNECTED_SECONDS)
            except Exception as error:
                log.warning("the cell could not be read for its metrics: %s: %s", type(error).__name__, error)
                metrics.DATABASE.set(0)
                for gauge in metrics.CELL:
                    gauge.set(math.nan)
                for state in ("connected", "disconnected"):
                    metrics.AGENTS.labels(state).set(math.nan)
                self._at = -math.inf
            else:
                _show(read)
                metrics.DATABASE.set(1)
                self._at = time.monotonic()
            metrics.READING.set(time.monotonic() - began)
            await self._look_at_bus()

    async def _look_at_bus(self) -> None:
        """How many of its streams and consumers cannot go on; no number where it is away or does not answer."""
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                said = await self.bus()
        except Exception as error:
            log.warning("bus.unanswered error=%r", f"{type(error).__name__}: {error}")
            said = None
        metrics.LEADERLESS.set(math.nan if said is None else len(said["leaderless"]))


def _show(read: Mapping[str, Any]) -> None:
    for (count, age), (counted, oldest) in (
        ((metrics.OPERATIONS, metrics.OPERATION_AGE), read["operations"]),
        ((metrics.WAITING, metrics.WAITING_AGE), read["waiting"]),
        ((metrics.UNTAKEN, metrics.UNTAKEN_AGE), read["untaken"]),
    ):
        count.set(counted)
        age.set(max(0.0, oldest or 0.0))
    metrics.QUEUED.set(read["queued"])
    metrics.POSITION.set(read["last_position"])
    metrics.UNNUMBERED_AGE.set(max(0.0, read["unnumbered"] or 0.0))
    metrics.TIMERS_LATE.set(max(0.0, read["late"] or 0.0))
    metrics.EPOCH.set(read["bus_epoch"])
    metrics.INCARNATION.set(read["incarnation"])
    metrics.BACKUP_AGE.set(max(0.0, read["unsaved"] or 0.0))
    metrics.AGENTS.labels("connected").set(read["there"])
    metrics.AGENTS.labels("disconnected").set(read["away"])
    metrics.EXPIRING.set(read["expiring"])
    metrics.UNSERVED.set(read["unserved"])
