"""One controller that books hosts, without a bus: what agents report is played by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from uuid import UUID

from stead.application.leases import Lease, leases
from stead.application.reader import Reader
from stead.catalog import KINDS
from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import TransitionInput
from stead.controller.reconcilers.leases import LeaseEvents
from stead.lifecycle.events import Report
from stead.lifecycle.rows import Actor, Trigger
from tests import background
from tests.controller.test_queues import ME, Controller, controller
from tests.leases.lab import terms

LEASE, OTHER = "/lab/monday", "/lab/tuesday"
PART = f"{LEASE}/r0"


class Office(Controller):
    """A controller that books hosts."""

    async def hosts(self, *names: str) -> None:
        for name in names:
            await self.store.hosts.put(name, "rack.a", {}, None)

    async def lease(self, action: str, path: str = LEASE, **more: object) -> str:
        """Request an action, and wait for the controller's part of it."""
        answer = await self.ask(path, action, "lease", lane="", **more)
        assert isinstance(answer, Accepted), answer
        async with asyncio.timeout(60):
            await background.done(self.steps.background, self.groups.background)
        return answer.operation

    async def ended(self, operation: str) -> tuple[str, str]:
        record = await self.store.operations.read(UUID(operation))
        assert record is not None
        return record["outcome"], record["says"]

    async def do(self, action: str, path: str = LEASE, **more: object) -> tuple[str, str]:
        """The same for an action that no agent is needed for: its outcome and message."""
        return await self.ended(await self.lease(action, path, **more))

    async def change(self, spec: Mapping[str, Any], word: Trigger = Trigger.SUCCEEDED) -> tuple[str, str]:
        """An update of the lease, in whose course an agent reports of its reservations."""
        answer = await self.ask(LEASE, "update", "lease", lane="", spec=spec)
        assert isinstance(answer, Accepted), answer
        async with asyncio.timeout(60):
            while not (await self.ended(answer.operation))[0]:
                for part in (await self.parts()).values():
                    if part["busy"]:
                        await self.report(part["path"], word)
                await asyncio.sleep(0.02)
        return await self.ended(answer.operation)

    async def fail(self, path: str, error: str) -> None:
        """An agent takes what is ordered of a resource and reports that it failed, until no attempt is left."""
        while (row := await self.store.resources.read(path)) is not None and row.snapshot.operation is not None:
            fences = await self.custody.take(ME, {path: row.snapshot.fence})
            told = TransitionInput(
                path, Report(Trigger.FAILED, fences[path]), principal="agent", detail={"error": error}
            )
            await self.executor.apply([told])
            await self.idle()

    async def active(self, path: str = LEASE, **more: Any) -> None:
        """A lease whose hosts are handed over."""
        if not await self.store.hosts.read_page("", 1):
            await self.hosts("h1")
        assert await self.do("create", path, spec=more.pop("spec", terms(0, 1000))) == ("succeeded", "")
        await self.lease("start", path, actor=Actor.CLOCK)
        for part in (await self.parts(path)).values():
            await self.report(part["path"])
        assert await self.state(path) == "ACTIVE"

    async def tick(self, seconds: float = 0) -> None:
        """So many seconds from now, the clock starts and ends leases, and tells of their end."""
        self.executor.clock = lambda: time.time() + seconds
        await LeaseEvents(self.admission)()
        await background.done(self.steps.background, self.groups.background)

    async def shown(self, path: str = LEASE) -> Lease:
        """A lease as its owner sees it."""
        view = Reader(self.store, KINDS)
        view.usual.clock = self.executor.clock
        found = await view.resource(path)
        assert found is not None
        (lease,) = await leases(view, [found], notices=True)
        return lease

    async def parts(self, path: str = LEASE) -> dict[str, Mapping[str, Any]]:
        """The reservations of a lease, by name."""
        found = (await self.store.leases.read_reservations([path]))[path]
        return {part["path"].rsplit("/", 1)[1]: part for part in found}


@asynccontextmanager
async def office(dsn: str) -> AsyncIterator[Office]:
    async with controller(dsn) as plain:
        one = Office(plain.store)
        one.begins(("lease", "CREATING"), ("lease", "UPDATING"))
        yield one
