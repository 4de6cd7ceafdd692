"""Gives room on their lanes to orders that wait for it.

A lane has room for so many members at once, a provider for so many regions. Room that becomes free is given on in the
transaction that frees it; here it is given to what came while there was some, and to what was left by a crash.
"""

from __future__ import annotations

import asyncio
import logging

from stead.controller.mover import Follow, Mover
from stead.store.change import Written

log = logging.getLogger(__name__)

STOOD = 1.0
"""Seconds after which an order was left, and not just come."""

COLLECT_SECONDS = 0.2
"""How long freed slots are collected before an order is divided to fit them, so that provider calls stay batched."""


class Grants:
    """Asks for room, for all that wait on a lane together."""

    def __init__(self, mover: Mover, send: Follow) -> None:
        self.mover = mover
        self.send = send
        self.wanted: set[str] = set()
        self.task: asyncio.Task[None] | None = None

    async def __call__(self, written: Written) -> None:
        """After a commit: whoever waits is given room soon, together with whoever comes meanwhile."""
        self.wanted.update(written.waiting)
        if self.wanted and (self.task is None or self.task.done()):
            self.task = asyncio.create_task(self._give())

    async def _give(self) -> None:
        while self.wanted:
            lanes, self.wanted = sorted(self.wanted), set()
            try:
                await self._grant(lanes, split=False)
                await asyncio.sleep(COLLECT_SECONDS)
                await self._grant(lanes, split=True)
            except Exception as error:
                log.info("orders wait for their healer: %s: %s", type(error).__name__, error)
                return

    async def limit_lane(self, name: str, members: int | None) -> None:
        """From now on a lane has room for so many members; what waits for it gets it at once."""
        await self.mover.store.limit_lane(name, members)
        await self._grant([name], split=True)

    async def limit_provider(self, name: str, members: int | None, regions: int | None) -> None:
        """From now on a provider bears so many members in a region, and so many regions."""
        await self.mover.store.limit_provider(name, members, regions)
        lanes = [lane for lane in await self.mover.store.waiting(0) if lane.split(".")[0] == name]
        if lanes:
            await self._grant(lanes, split=True)

    async def _grant(self, lanes: list[str], *, split: bool) -> int:
        orders = await self.mover.store.grant(lanes, self.mover.clock(), split=split)
        await self.send(Written({}, orders, []))
        return len(orders)

    async def heal(self) -> int:
        """Whatever waits though there is room."""
        lanes = await self.mover.store.waiting(STOOD)
        return await self._grant(lanes, split=True) if lanes else 0
