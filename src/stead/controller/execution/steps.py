"""A controller's own work: what a resource waits for in a state that awaits a step.

A step is done as often as it takes: it reads, does what is missing, and says that all is done, that it failed, or
what it waits for. After a crash its timer finds it, and whoever takes it up raises the fence; whoever was at it
before is not heard any more, and stops.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from stead.controller.execution.background_tasks import BackgroundTasks
from stead.controller.execution.executor import TransitionExecutor
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.decision import Outcome
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Fence
from stead.store import Row, Store
from stead.store.commit import CommitResult

SOON, LATER = 0.1, 2.0
"""Seconds before another look at what is waited for: at first, and in the end."""

CONTROLLER = "controller"
"""The principal that a controller acts as."""


@dataclass(frozen=True, slots=True)
class Done:
    """All is done."""

    events: tuple[tuple[str, str], ...] = ()
    """Of a lease: its timed events by kind, each with its status."""
    detail: Mapping[str, Any] | None = None
    """What the journal keeps of it."""


@dataclass(frozen=True, slots=True)
class Declined:
    """It was checked and is not to be, and why: all is as it was."""

    says: str


@dataclass(frozen=True, slots=True)
class Failed:
    """It cannot be done, and why."""

    says: str


@dataclass(frozen=True, slots=True)
class Waits:
    """Somebody else is to do something first."""

    says: str


type Answer = Done | Declined | Failed | Waits

KINDS = {Done: Trigger.SUCCEEDED, Declined: Trigger.DECLINED, Failed: Trigger.FAILED}
"""How each end of a step is told."""

type Work = Callable[[Row, UUID], Awaitable[Answer]]
"""Does what is missing for a resource and the operation on it: again and again, and by several at once."""


UNFAILED = ("", Outcome.SUCCEEDED, Outcome.PREEMPTED)
"""How an operation has ended, or not yet, where that is nothing to worry about."""


class Requested:
    """Operations on others that a step has asked for, each by its path."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._asked: dict[str, list[str]] = {}

    def add(self, path: str, operation: str) -> None:
        """One more, unless it is known."""
        known = self._asked.setdefault(path, [])
        if operation not in known:
            known.append(operation)

    async def bad(self) -> dict[str, list[str]]:
        """By path, those that did not go well, where the last is one of them."""
        known = await self.store.operations.read_outcomes([id for ids in self._asked.values() for id in ids])
        bad = {p: [i for i in ids if i in known and known[i][0] not in UNFAILED] for p, ids in self._asked.items()}
        return {path: ids for path, ids in bad.items() if ids and ids[-1] == self._asked[path][-1]}

    async def why(self, operation: str) -> str:
        """What there is to say of one that did not go well."""
        record = await self.store.operations.read(UUID(operation))
        return f": {record['says']}" if record is not None and record["says"] else ""


class Steps:
    """Does what is to be done, by kind and state."""

    def __init__(self, executor: TransitionExecutor, works: Mapping[tuple[str, str], Callable[[], Work]]) -> None:
        self.executor = executor
        self.works = works
        self.background = BackgroundTasks("a step")

    async def __call__(self, written: CommitResult) -> None:
        """After a commit: begin what it asks for."""
        for path, fence in written.steps:
            self.background.begin(self._until_over(path, fence))

    async def _until_over(self, path: str, fence: Fence) -> None:
        pause = SOON
        work: Work | None = None
        while True:
            row = await self.executor.store.resources.read(path)
            operation = row.snapshot.operation if row is not None else None
            if row is None or operation is None or row.snapshot.fence != fence:
                return
            begin = self.works.get((row.kind, row.snapshot.state))
            if begin is None:
                return
            work = work or begin()
            answer = await work(row, UUID(operation.id))
            await self.executor.store.operations.set_message(
                UUID(operation.id), "" if isinstance(answer, Done) else answer.says
            )
            if not isinstance(answer, Waits):
                await self._report(path, fence, answer)
                return
            await asyncio.sleep(pause)
            pause = min(pause * 2, LATER)

    async def _report(self, path: str, fence: Fence, answer: Done | Declined | Failed) -> None:
        detail = answer.detail if isinstance(answer, Done) else {"error": answer.says}
        events = answer.events if isinstance(answer, Done) else ()
        event = Report(KINDS[type(answer)], fence, actor=Actor.CONTROLLER, events=events)
        await self.executor.apply([TransitionInput(path, event, principal=CONTROLLER, detail=detail)])
