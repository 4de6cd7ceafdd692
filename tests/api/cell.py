"""A whole server for tests: engine, real database and uvicorn on a thread of its own; no bus.

What would be sent is kept. An agent is played by hand (`settle`), or by itself for one namespace (`obey`). Tests
share a cell and keep apart by namespace.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import socket
import threading
import time
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

import asyncpg
import httpx
import uvicorn
from fastapi import Request

from stead.access.caller import Caller
from stead.api import create_app
from stead.api.connection_limits import LimitedConnection
from stead.api.limits import Limits
from stead.build import Authenticator
from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.leases import LeaseEvents
from stead.dev.children import START_TIMEOUT
from stead.lifecycle.events import Children, Report
from stead.lifecycle.events import Request as LifecycleRequest
from stead.lifecycle.rows import PROBE, Actor, Trigger
from stead.store import Store
from stead.store.commit import CommitResult, Custody
from tests import background
from tests.action_requests import requested
from tests.engine import engine_without_bus

INFRASTRUCTURE = {
    "subgroups": [{"name": "g", "provider": "sim", "region": "a", "spec": "small", "image": "debian-12", "size": 2}]
}
MCI = {"kind": "mci", "spec": INFRASTRUCTURE}
"""What makes an infrastructure that nobody prepares here: `prepared` does it by hand."""

HEARTBEAT = 0.3
NUMBERED, IDLE = 0.03, 0.5
"""Seconds between two numberings of the journal while something happens, and otherwise: many cells wait in a run."""
AGENT = Custody("agent", 1)


async def by_header(request: Request) -> Caller:
    """Tests are whoever they say they are."""
    return Caller(request.headers.get("x-name", "ann"), request.headers.get("x-actor", "user"))


RESERVATIONS = {"PENDING": "pending", "ACTIVE": "active", "TERMINATED": "deleted"}
"""By status of a lease, that of its reservation."""
EVENTS = {
    "pending": ("UNDONE", "UNDONE"),
    "active": ("DONE", "UNDONE"),
    "deleted": ("DONE", "DONE"),
    "error": ("ERROR", "UNDONE"),
}
"""By status of a reservation, those of the start and the end of its lease."""


BY_HAND = (("mci", "Preparing"), ("subgroup", "Preparing"), ("node", "PUTTING_IN_MAINTENANCE"))
"""Steps of a controller that a test plays, or stops halfway, by hand."""


class Cell:
    """A server that runs while the context lasts."""

    def __init__(
        self, dsn: str, entry: Authenticator | None = None, limits: Limits | None = None, *, served: bool = False
    ) -> None:
        """With an entry, whoever asks has to show who they are; `served`: lanes are those that agents have served."""
        self.dsn = dsn
        self.served = served
        self.entry = entry
        self.limits = limits
        self.sent: list[Mapping[str, Any]] = []
        self.obeyed: dict[str, Trigger] = {}
        self.shown: dict[str, str] = {}
        # With its protocol said, or the loop does not recognise it as TCP and lets answers wait for acknowledgements.
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        self.socket.bind(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self._numberer = asyncio.Lock()
        self._numbers = itertools.count(1)
        self._busy_until = 0.0
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._failure: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._started.wait(START_TIMEOUT), "the server did not start"
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.should_exit = True
        self._thread.join(START_TIMEOUT)

    async def _main(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._busy = asyncio.Event()
        try:
            async with AsyncExitStack() as stack:
                self.store = await stack.enter_async_context(Store.open(self.dsn, connections=5))
                self._hand = await stack.enter_async_context(asyncpg.create_pool(self.dsn, min_size=0, max_size=2))
                engine = engine_without_bus(self.store, entry=self.entry, publisher=self.send)
                one = engine.controller
                await one.kinds.fresh()
                one.steps.works = {at: work for at, work in one.steps.works.items() if at not in BY_HAND}
                self.kinds, self.executor, self.admission = one.kinds, one.executor, one.admission
                self.custody, self.queues, self.groups = one.custody, one.queues, one.groups
                self.view = engine.application.reader
                self.service = replace(
                    engine.application,
                    checks={},
                    observer=None,
                    served=engine.application.served if self.served else None,
                )
                identify = by_header if self.entry is None else None
                app = self.app = create_app(self.service, identify=identify, heartbeat=HEARTBEAT, limits=self.limits)

                async def served(scope: Any, receive: Any, send: Any) -> None:
                    self._keep_numbering()
                    try:
                        await app(scope, receive, send)
                    finally:
                        self._keep_numbering()

                config = uvicorn.Config(
                    served, http=LimitedConnection, log_level="critical", lifespan="off", timeout_graceful_shutdown=1
                )
                self.server = uvicorn.Server(config)
                numbering = asyncio.create_task(self._number())
                stack.callback(numbering.cancel)
                serving = asyncio.create_task(self.server.serve([self.socket]))
                while not self.server.started:
                    await asyncio.sleep(0.005)
                self._started.set()
                await serving
        except BaseException as error:
            self._failure = error
            self._started.set()

    async def _number(self) -> None:
        while True:
            with suppress(Exception):
                await self._numbered()
            if time.monotonic() < self._busy_until:
                await asyncio.sleep(NUMBERED)
                continue
            self._busy.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._busy.wait(), IDLE)

    def _keep_numbering(self) -> None:
        """Something may be committed now: number the journal often for a while."""
        self._busy_until = time.monotonic() + IDLE
        self._busy.set()

    async def _numbered(self) -> int:
        async with self._numberer:  # there is one numberer at a time
            return (await self.store.journal.number())[0]

    # What a test does to the engine

    def run[T](self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run something where the engine runs."""
        self.loop.call_soon_threadsafe(self._keep_numbering)
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(START_TIMEOUT)

    def namespace(self) -> str:
        """One that no other test has."""
        return f"ns{next(self._numbers)}"

    def obey(self, namespace: str, word: Trigger = Trigger.SUCCEEDED) -> None:
        """From now on an agent carries out what is asked of a namespace, or says that it cannot."""
        self.obeyed[namespace] = word

    def settle(self, path: str, word: Trigger = Trigger.SUCCEEDED, **facts: Any) -> None:
        """An agent takes the order of a resource and reports."""
        self.run(self.report(path, word, facts))
        self.run(self.idle())

    async def idle(self) -> None:
        """Whoever waited for what was settled has been tried, and groups have been asked and counted."""
        await background.done(self.queues.background, self.groups.background)

    def shows(self, namespace: str, seen: str) -> None:
        """From now on an agent that is to look at something in a namespace sees this."""
        self.shown[namespace] = seen

    def look(self, path: str, seen: str, **facts: Any) -> None:
        """An agent takes the probe of a resource and says what it sees."""
        self.run(self.report(path, Trigger.OBSERVED, facts, seen))

    async def report(self, path: str, word: Trigger, facts: dict[str, Any], seen: str = "") -> None:
        row = await self.store.resources.read(path)
        assert row is not None
        taken = await self.custody.take(AGENT, {path: row.snapshot.fence})
        said = Report(word, taken[path], seen=seen)
        await self.executor.apply([TransitionInput(path, said, principal="agent", facts=facts)])

    def told(self, path: str, seen: str, **facts: Any) -> None:
        """An agent looks at a resource though nobody asked it to."""
        self.run(self._told(path, seen, facts))

    async def _told(self, path: str, seen: str, facts: dict[str, Any]) -> None:
        row = await self.store.resources.read(path)
        assert row is not None
        await self.executor.apply(
            [TransitionInput(path, Report(Trigger.OBSERVED, row.snapshot.fence, seen=seen), facts=facts)]
        )

    def subgroup(self, path: str) -> None:
        """There is a subgroup, as its infrastructure makes it."""
        wish = requested("subgroup", path, LifecycleRequest("create", Actor.CONTROLLER), "controller")
        assert isinstance(self.run(self.admission.admit(*wish)), Accepted)

    def orphan(self, lane: str, token: str) -> None:
        """A provider has something that nobody owns."""
        self.run(self.store.orphans.record(lane, [{"token": token, "path": "", "state": "Running", "facts": {}}]))

    def prepared(self, path: str) -> None:
        """The controller has prepared an infrastructure."""
        self.run(self._prepared(path))
        self.run(self.idle())

    async def _prepared(self, path: str) -> None:
        row = await self.store.resources.read(path)
        assert row is not None
        done = Report(Trigger.SUCCEEDED, row.snapshot.fence, actor=Actor.CONTROLLER)
        await self.executor.apply([TransitionInput(path, done, principal="controller")])

    def put(self, path: str, kind: str, state: str = "Ready", **spec: Any) -> None:
        """Something at rest, of which nobody has asked how it came to be; whatever went on there is over."""
        self.put_in("", path, kind, state, **spec)

    def put_in(self, lane: str, path: str, kind: str, state: str, **spec: Any) -> None:
        """The same, whose orders go to a lane."""
        self.run(self._put(path, kind, state, spec, lane))

    async def _put(self, path: str, kind: str, state: str, spec: Mapping[str, Any], lane: str) -> None:
        try:
            await self._put_all(path, kind, state, spec, lane)
        except asyncpg.DeadlockDetectedError:  # the clock was settling it: now it has
            await self._put_all(path, kind, state, spec, lane)

    async def _put_all(self, path: str, kind: str, state: str, spec: Mapping[str, Any], lane: str) -> None:
        async with self._hand.acquire() as hand, hand.transaction():
            part = RESERVATIONS.get(state) if kind == "lease" else None
            if part is not None:  # first, as whatever settles it locks it before its lease
                await self._put_one(hand, f"{path}/r0", "reservation", part, {})
            await self._put_one(hand, path, kind, state, spec)
            if lane:
                await hand.execute("UPDATE resources SET lane = $2 WHERE path = $1", path, lane)
            if part is not None:
                await self._put_events(hand, path, part)
            elif kind == "reservation":
                await self._put_events(hand, path.rpartition("/")[0], state)

    async def _put_events(self, hand: Any, lease: str, reservation: str) -> None:
        for event, status in zip(("start_lease", "end_lease"), EVENTS[reservation], strict=True):
            await hand.execute(
                "INSERT INTO lease_events (lease, kind, at, status) VALUES ($1, $2, now() + '1 day', $3) "
                "ON CONFLICT (lease, kind) DO UPDATE SET status = $3",
                lease,
                event,
                status,
            )

    async def _put_one(self, hand: Any, path: str, kind: str, state: str, spec: Mapping[str, Any]) -> None:
        await hand.execute(
            "INSERT INTO resources (path, kind, state, token, spec) VALUES ($1, $2, $3, gen_random_uuid(), $4) "
            "ON CONFLICT (path) DO UPDATE SET state = $3, condition = '{}', operation = NULL, next_spec = NULL, "
            "order_id = NULL, timers = '{}', due = NULL",
            path,
            kind,
            state,
            json.dumps(spec),
        )
        await hand.execute("DELETE FROM claims WHERE path = $1", path)

    def struck(self) -> int:
        """The clock sees to the moments of leases that have come; how many that were."""
        seen = self.run(LeaseEvents(self.admission)())
        self.run(self.idle())
        return seen

    def childless(self, path: str) -> None:
        """The children of a resource are counted, and there are none."""
        self.run(self.executor.apply([TransitionInput(path, Children(()), principal="controller")]))

    def rest(self, path: str, state: str) -> None:
        """Put a resource at rest in a state: for kinds whose members nobody moves yet."""
        self.run(self._rest(path, state))

    async def _rest(self, path: str, state: str) -> None:
        await self._hand.execute(
            "UPDATE resources SET state = $2, condition = '{}', operation = NULL, timers = '{}', due = NULL "
            "WHERE path = $1",
            path,
            state,
        )
        await self._hand.execute("DELETE FROM claims WHERE path = $1", path)

    def state(self, path: str, state: str) -> None:
        """The operation on a resource has come to another of its states."""
        self.run(self._hand.execute("UPDATE resources SET state = $2 WHERE path = $1", path, state))

    def numbered(self) -> int:
        """Everything that has committed is in the journal now; its last position."""
        return self.run(self._numbered())

    @contextmanager
    def unnumbered(self) -> Iterator[None]:
        """What commits meanwhile gets no position in the journal until later."""
        self.run(self._numberer.acquire())
        try:
            yield
        finally:
            self.loop.call_soon_threadsafe(self._numberer.release)

    async def send(self, written: CommitResult) -> None:
        """The relay."""
        self._keep_numbering()
        for order in written.orders:
            self.sent.append(order)
            for member in order["members"]:
                namespace = member["path"].split("/")[1]
                seen = self.shown.get(namespace, "") if order["verb"] == PROBE else ""
                word = Trigger.OBSERVED if seen else self.obeyed.get(namespace)
                if word is not None:
                    await self.report(member["path"], word, {"id": "i-1"}, seen)


def http(cell: Cell, **headers: str) -> httpx.Client:
    """A plain client: what goes over the wire, and nothing else."""
    return httpx.Client(base_url=cell.url, headers=headers, trust_env=False, verify=False, timeout=60)
