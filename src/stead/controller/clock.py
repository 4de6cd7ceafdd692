"""Timers that are due are brought to their resources, by whichever controller sees them first.

Two controllers may see the same timer; the second finds that it no longer runs. A timer that was due while nobody
was there is simply late.
"""

from __future__ import annotations

from uuid import uuid4

from stead.controller.mover import Moved, Mover, Told
from stead.controller.relay import Relay
from stead.lifecycle.events import Due
from stead.store import Row
from stead.store.change import Begin

BATCH = 500

CLOCK = "clock"
"""The principal that a timer acts as."""


class Clock:
    """Finds what is due."""

    def __init__(self, mover: Mover, relay: Relay) -> None:
        self.mover = mover
        self.relay = relay

    def told(self, row: Row, timer: str) -> Told:
        """A timer that is due, with the operation that it begins, if it is the kind that begins one."""
        operation = uuid4()
        expires = self.mover.kinds[row.kind].state(row.snapshot.state).expires
        begin = Begin(operation, expires.action, CLOCK) if expires is not None else None
        return Told(row.path, Due(timer, str(operation)), principal=CLOCK, begin=begin)

    async def tick(self) -> int:
        """Fire what is due now; how many timers that were."""
        now = self.mover.clock()
        rows = await self.mover.store.read_many(await self.mover.store.due(now, BATCH))
        told = []
        for row in rows.values():
            due = sorted((at, name) for name, at in (row.timers or {}).items() if at <= now)
            if due:
                told.append(self.told(row, due[0][1]))
        answers = await self.mover.move(told)
        await self.relay.send([a for a in answers if isinstance(a, Moved)])
        return len(told)
