"""A system without a bus: one controller, and agents that are played by hand."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from stead.controller.admission.request import Accepted, NotFound
from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.group_state import GroupStateReconciler
from stead.controller.reconcilers.journal_numbering import JournalNumbering
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import OnConflict, Report, Request, TimerDue
from stead.lifecycle.rows import ABSENT, PROBE, Trigger
from stead.store import Row, Store
from tests import background
from tests.action_requests import AuthorizedRequest, requested
from tests.controller.test_queues import ME, Controller

LANE = "local.one"
SYSTEM = "/shop/web"
ENDS = {"delete": ABSENT, "run": "succeeded"}
"""What is there after a verb, if not something stable."""


def service(*command: str, **more: Any) -> dict[str, Any]:
    """A node that runs something."""
    return {"command": list(command or ("sleep", "60")), **more}


class Town(Controller):
    """A controller that deploys."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.system = SYSTEM
        self.there: dict[str, str] = {}
        """What agents have made, by path."""
        self.begins(("system", "pending"))
        self.numbering = JournalNumbering(store, GroupStateReconciler(self.executor))

    async def want(self, action: str, **spec: Any) -> Accepted | Rejection | NotFound:
        said = {name: spec.pop(name) for name in ("on_failure", "actor") if name in spec}
        request = Request(action, on_conflict=OnConflict.REJECT, **said)
        answer = await self.admission.admit(*requested("system", self.system, request, "ann", spec))
        await self.rest()
        return answer

    async def deploy(self, definition: Mapping[str, Any], at: str = "/", **more: Any) -> str:
        """Begin a deploy."""
        return self.let_in(await self.want("deploy", definition=definition, path=at, **more))

    def let_in(self, answer: Accepted | Rejection | NotFound) -> str:
        assert isinstance(answer, Accepted), answer
        return answer.operation

    def wish(self, kind: str, path: str, action: str, **spec: Any) -> AuthorizedRequest:
        return requested(kind, path, Request(action, on_conflict=OnConflict.REJECT), "ann", spec)

    async def expire(self) -> None:
        """Serve, and let every timer come due that would keep it waiting."""
        for _ in range(10):
            await self.serve()
            self.executor.clock = lambda: time.time() + 3600
            for row in (await self.parts()).values():
                for timer in {*(row.timers or {})} & {"again", "fenced", "custody"}:
                    await self.executor.apply([TransitionInput(row.path, TimerDue(timer), principal="clock")])
            self.executor.clock = time.time
            await self.rest()

    async def found(self, path: str = SYSTEM) -> None:
        """A system on one lane."""
        answer = await self.admission.admit(*requested("system", path, Request("create"), "ann", {"lanes": [LANE]}))
        self.let_in(answer)
        await self.rest()

    async def rest(self) -> None:
        """Until nothing of one's own is left to do."""
        await self.idle()
        await background.done(self.steps.background, self.queues.background, self.groups.background)
        while await self.numbering():
            await self.idle()

    async def parts(self, below: str = "") -> dict[str, Row]:
        """Services and jobs by path."""
        rows = await self.store.resources.read_many(
            [r["path"] for r in await self.store.systems.read_definitions(below or self.system)]
        )
        return dict(sorted(rows.items()))

    async def states(self, below: str = "") -> dict[str, str]:
        """By the path within the system."""
        return {path.removeprefix(SYSTEM): row.snapshot.state for path, row in (await self.parts(below)).items()}

    async def serve(self, *failing: str, below: str = "") -> None:
        """As agents would, until nothing is ordered any more; what fails fails once each time it is asked."""
        failed: set[str] = set()
        while True:
            rows = await self.parts(below)
            todo = {path: row.snapshot.work.verb for path, row in rows.items() if row.snapshot.work is not None}
            if not todo:
                break
            for path, verb in todo.items():
                if path.removeprefix(SYSTEM) in failing and path not in failed:
                    failed.add(path)
                    await self.report(path, Trigger.FAILED)
                elif verb == PROBE:
                    await self.see(path, self.there.get(path, ABSENT))
                else:
                    self.there[path] = ENDS.get(verb, "stable")
                    await self.report(path)
        await self.rest()

    async def see(self, path: str, state: str) -> None:
        """An agent takes a probe and says what is there."""
        row = await self.store.resources.read(path)
        assert row is not None
        fences = await self.custody.take(ME, {path: row.snapshot.fence})
        await self.executor.apply(
            [TransitionInput(path, Report(Trigger.OBSERVED, fences[path], seen=state), principal="agent")]
        )
        await self.idle()

    async def outcome(self, operation: str) -> str:
        return str((await self.operation(operation))["outcome"])


@asynccontextmanager
async def town(dsn: str) -> AsyncIterator[Town]:
    """With a lane that somebody has served."""
    async with Store.open(dsn, connections=6) as store:
        await serve_lane(dsn)
        yield Town(store)


async def serve_lane(dsn: str) -> None:
    """Somebody has served the lane."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(
            "INSERT INTO agents (name, lanes, epoch, version) VALUES ('one', $1, 1, '') ON CONFLICT DO NOTHING",
            [LANE],
        )
    finally:
        await connection.close()
