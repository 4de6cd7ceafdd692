"""Gives room on their lanes to orders that wait for it.

A lane has room for so many members at once, a provider for so many regions. Room that becomes free is given on in the
transaction that frees it; here it is given to what came while there was some, and to what was left by a crash.
"""

from __future__ import annotations

import asyncio
import logging

from stead.controller.execution.executor import CommitHook, TransitionExecutor
from stead.store.commit import CommitResult

log = logging.getLogger(__name__)

STOOD = 1.0
"""Seconds after which an order was left, and not just come."""

COLLECT_SECONDS = 0.2
"""How long freed slots are collected before an order is divided to fit them, so that provider calls stay batched."""


class SlotAllocator:
    """Asks for room, for all that wait on a lane together."""

    def __init__(self, executor: TransitionExecutor, send: CommitHook) -> None:
        self.executor = executor
        self.send = send
        self.wanted: set[str] = set()
        self.unfilled: set[str] = set()
        self.giving: asyncio.Task[None] | None = None
        self.dividing: asyncio.Task[None] | None = None

    async def __call__(self, written: CommitResult) -> None:
        """After a commit: grants free slots to orders that wait, and with them to those that arrive meanwhile."""
        self.wanted.update(written.waiting)
        if self.wanted and _ended(self.giving):
            self.giving = asyncio.create_task(self._give())

    async def _give(self) -> None:
        while self.wanted:
            lanes, self.wanted = sorted(self.wanted), set()
            if not await self._try_grant(lanes, split=False):
                return
            self.unfilled.update(lanes)
            if _ended(self.dividing):
                self.dividing = asyncio.create_task(self._divide())

    async def _divide(self) -> None:
        """Runs beside `_give`, so that orders on other lanes need not wait until the slots of these are collected."""
        while self.unfilled:
            await asyncio.sleep(COLLECT_SECONDS)
            lanes, self.unfilled = sorted(self.unfilled), set()
            if not await self._try_grant(lanes, split=True):
                return

    async def _try_grant(self, lanes: list[str], *, split: bool) -> bool:
        try:
            await self._grant(lanes, split=split)
        except Exception as error:
            log.info("orders wait for their healer: %s: %s", type(error).__name__, error)
            return False
        return True

    async def limit_lane(self, name: str, members: int | None) -> None:
        """From now on a lane has room for so many members; what waits for it gets it at once."""
        await self.executor.store.slots.limit_lane(name, members)
        await self._grant([name], split=True)

    async def limit_provider(self, name: str, members: int | None, regions: int | None) -> None:
        """From now on a provider bears so many members in a region, and so many regions."""
        await self.executor.store.slots.limit_provider(name, members, regions)
        lanes = [lane for lane in await self.executor.store.slots.list_waiting_lanes(0) if lane.split(".")[0] == name]
        if lanes:
            await self._grant(lanes, split=True)

    async def release(self, path: str, who: str) -> bool:
        """Let a restored cell act at a path and below it; whether it was held there. What waited for that is sent."""
        released = await self.executor.store.recovery.release(path, who)
        if released:
            await self.heal()
        return released

    async def _grant(self, lanes: list[str], *, split: bool) -> int:
        orders = await self.executor.store.slots.grant(lanes, self.executor.clock(), split=split)
        await self.send(CommitResult({}, orders, []))
        return len(orders)

    async def heal(self) -> int:
        """All that waits though there is room, and though it was released."""
        await self.executor.store.recovery.resume_orders()
        lanes = await self.executor.store.slots.list_waiting_lanes(STOOD)
        return await self._grant(lanes, split=True) if lanes else 0


def _ended(task: asyncio.Task[None] | None) -> bool:
    return task is None or task.done()
