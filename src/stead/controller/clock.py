"""Timers that are due are brought to their resources, by whichever controller sees them first.

Two controllers may see the same timer; the second finds that it no longer runs. A timer that was due while nobody
was there is simply late.
"""

from __future__ import annotations

from uuid import uuid4

from stead.controller.mover import Mover, Told
from stead.lifecycle.events import Cancel, Due
from stead.lifecycle.rows import Actor
from stead.store import Brief, Conflict
from stead.store.template import WAITING, Begin

BATCH = 500

CLOCK = "clock"
"""The principal that a timer acts as."""


class Clock:
    """Finds what is due."""

    def __init__(self, mover: Mover) -> None:
        self.mover = mover

    def told(self, brief: Brief, timer: str) -> Told:
        """A timer that is due, with the operation that it begins, if it is the kind that begins one."""
        if timer == WAITING:  # there was no room for its order in all that time
            return Told(brief.path, Cancel(str(brief.hidden or brief.operation), Actor.ADMIN), principal=CLOCK)
        expires = self.mover.kinds[brief.kind].state(brief.state).expires
        if timer != "expiry" or expires is None:
            return Told(brief.path, Due(timer), principal=CLOCK)
        operation = uuid4()
        begin = Begin(operation, expires.action, CLOCK)
        return Told(brief.path, Due(timer, str(operation)), principal=CLOCK, begin=begin)

    async def tick(self) -> int:
        """Fire what is due now; how many timers that were."""
        now = self.mover.clock()
        told = []
        for brief in await self.mover.store.due(now, BATCH):
            due = sorted((at, name) for name, at in brief.armed().items() if at <= now)
            if due:
                told.append(self.told(brief, due[0][1]))
        answers = await self.mover.move(told)
        return sum(not isinstance(answer, Conflict) for answer in answers)
