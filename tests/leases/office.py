"""One controller that books hosts, without a bus: what agents report is played by hand."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from uuid import UUID

from stead.controller.admission import Accepted
from stead.controller.leasing import Booking, Rebooking
from stead.controller.steps import Steps
from stead.lifecycle.rows import Actor, Trigger
from tests import errands
from tests.controller.test_queues import Controller, controller
from tests.leases.lab import terms

LEASE, OTHER = "/lab/monday", "/lab/tuesday"
PART = f"{LEASE}/r0"


class Office(Controller):
    """A controller that books hosts."""

    def __post_init__(self) -> None:
        works = {
            ("lease", "CREATING"): partial(Booking, self.mover),
            ("lease", "UPDATING"): partial(Rebooking, self.admission),
        }
        self.steps = Steps(self.mover, works)
        self.mover.follow(self.steps)

    async def hosts(self, *names: str) -> None:
        for name in names:
            await self.store.put_host(name, "rack.a", {}, None)

    async def lease(self, action: str, path: str = LEASE, **more: object) -> str:
        """Request an action, and wait for the controller's part of it."""
        answer = await self.ask(path, action, "lease", lane="", **more)
        assert isinstance(answer, Accepted), answer
        await errands.done(self.steps.errands, self.groups.errands)
        return answer.operation

    async def ended(self, operation: str) -> tuple[str, str]:
        record = await self.store.operation(UUID(operation))
        assert record is not None
        return record["outcome"], record["says"]

    async def do(self, action: str, path: str = LEASE, **more: object) -> tuple[str, str]:
        """The same for an action that no agent is needed for: its outcome and message."""
        return await self.ended(await self.lease(action, path, **more))

    async def change(self, spec: Mapping[str, Any], word: Trigger = Trigger.DONE) -> tuple[str, str]:
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

    async def active(self, path: str = LEASE, **more: Any) -> None:
        """A lease whose hosts are handed over."""
        if not await self.store.hosts("", 1):
            await self.hosts("h1")
        assert await self.do("create", path, spec=more.pop("spec", terms(0, 1000))) == ("done", "")
        await self.lease("start", path, actor=Actor.CLOCK)
        for part in (await self.parts(path)).values():
            await self.report(part["path"])
        assert await self.state(path) == "ACTIVE"

    async def parts(self, path: str = LEASE) -> dict[str, Mapping[str, Any]]:
        """The reservations of a lease, by name."""
        found = (await self.store.reservations([path]))[path]
        return {part["path"].rsplit("/", 1)[1]: part for part in found}


@asynccontextmanager
async def office(dsn: str) -> AsyncIterator[Office]:
    async with controller(dsn) as plain:
        one = Office(plain.store)
        one.__post_init__()
        yield one
