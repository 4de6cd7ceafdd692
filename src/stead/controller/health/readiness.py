"""Whether the bus can carry orders and reports, as load balancers ask again and again."""

from __future__ import annotations

import asyncio
import math
import time

from stead.bus import Bus, Unavailable

INTERVAL = 5.0
"""Seconds for which one look at the streams of the bus answers every probe."""


class BusReadiness:
    """The readiness of the bus. Looking at all streams costs too much for every probe."""

    def __init__(self, bus: Bus, interval: float = INTERVAL) -> None:
        self.bus = bus
        self._interval = interval
        self._leaderless: list[str] = []
        self._at = -math.inf
        self._one = asyncio.Lock()

    async def __call__(self) -> None:
        """Raise `Unavailable` where orders and reports cannot go on."""
        if not self.bus.connected:
            raise Unavailable("the bus is not connected")
        async with self._one:
            if time.monotonic() - self._at >= self._interval:
                said = await self.bus.stream_health()
                self._leaderless, self._at = said["leaderless"] if said is not None else [], time.monotonic()
        if self._leaderless:
            count, first = len(self._leaderless), self._leaderless[0]
            raise Unavailable(f"{count} streams or consumers of the bus have no leader, such as {first}")
