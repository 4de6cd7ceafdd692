"""Timers that are due are brought to their resources, by whichever controller sees them first.

Two controllers may see the same timer; the second finds that it no longer runs. A timer that was due while nobody
was there is simply late.

A timer that changes nothing is put off. Otherwise it would be due for ever, and many of them would hide all others.
It is tried again later where its action is rejected, or where its change cannot be written. Where it does not run at
all, as after an upgrade that changed the kind's lifecycle, the resource gets the timers that it is to have.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from uuid import uuid4

from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.faults import at_fault
from stead.controller.execution.transition import Answer, Applied, TransitionInput
from stead.lifecycle.events import Cancel, TimerDue
from stead.lifecycle.rows import Actor
from stead.lifecycle.timers import pending
from stead.store import Conflict, ResourceSummary
from stead.store.decision_template import WAITING, OperationStart
from stead.store.summary import snapshot_of

log = logging.getLogger(__name__)

BATCH = 500
RETRY_SECONDS = 10.0
"""Seconds until a timer that changed nothing is tried again."""

CLOCK = "clock"
"""The principal that a timer acts as."""


class TimerService:
    """Finds what is due."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor

    def told(self, summary: ResourceSummary, timer: str) -> TransitionInput:
        """A timer that is due, with the operation that it begins, if it is the kind that begins one."""
        if timer == WAITING:  # there was no room for its order in all that time
            return TransitionInput(
                summary.path, Cancel(str(summary.hidden or summary.operation), Actor.ADMIN), principal=CLOCK
            )
        expires = self.executor.kinds[summary.kind].state(summary.state).expiry
        if timer != "expiry" or expires is None:
            return TransitionInput(summary.path, TimerDue(timer), principal=CLOCK)
        operation = uuid4()
        begin = OperationStart(operation, expires.action, CLOCK)
        return TransitionInput(summary.path, TimerDue(timer, str(operation)), principal=CLOCK, begin=begin)

    async def tick(self) -> int:
        """Fire what is due now; how many timers changed something."""
        now = self.executor.clock()
        timers = []
        for summary in await self.executor.store.timers.due(now, BATCH):
            due = sorted((at, name) for name, at in summary.decode_timers().items() if at <= now)
            if due:
                timers.append((summary, due[0][1]))
        answers = await self._fire(timers)
        idle = [timer for timer, answer in zip(timers, answers, strict=True) if _changed_nothing(answer)]
        if idle:
            await self.executor.store.timers.set(
                [(summary, self._repaired(summary, name, now)) for summary, name in idle]
            )
        return sum(isinstance(answer, Applied) and answer.wrote for answer in answers)

    async def _fire(self, timers: Sequence[tuple[ResourceSummary, str]]) -> list[Answer]:
        """What became of timers. One whose change cannot be applied is logged, and holds up no other."""
        try:
            return await self.executor.apply([self.told(summary, name) for summary, name in timers])
        except Exception as error:
            if not at_fault(error):
                raise
            if len(timers) > 1:
                half = len(timers) // 2
                return await self._fire(timers[:half]) + await self._fire(timers[half:])
            summary, name = timers[0]
            log.exception(
                "timer.failed path=%s kind=%s state=%s timer=%s", summary.path, summary.kind, summary.state, name
            )
            return [None]

    def _repaired(self, summary: ResourceSummary, name: str, now: float) -> dict[str, float]:
        """The timers that a resource is to have, after one of them changed nothing."""
        timers = summary.decode_timers()
        lifecycle = self.executor.kinds.get(summary.kind)
        runs = None if lifecycle is None else pending(lifecycle, snapshot_of(summary.decision_key))
        if runs is None or name in runs or name == WAITING:
            return timers | {name: now + RETRY_SECONDS}
        del timers[name]
        return {other: now + running.after for other, running in runs.items()} | timers


def _changed_nothing(answer: Answer) -> bool:
    return not isinstance(answer, Conflict) and not (isinstance(answer, Applied) and answer.wrote)
