"""A cell with hosts to be booked, handed over by the simulated cloud, within the test."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.controller.runtime import Controller
from stead.controller.steps.lease_spec import complete, said
from stead.dev.engines import Nats
from stead.drivers.base import Driver
from stead.drivers.sim.driver import RACK
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.pace import Pace
from tests.action_requests import requested
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration import whole

PACE = Pace(custody=4, call=2, resend=2, again=1, probe=10, undo=10, unseen_work=10, step=2, look=1, away=3)
"""Everything soon, so that a test need not wait."""

HOOKS = "http://127.0.0.1:"


def at(seconds: float) -> str:
    """A time so many seconds from now."""
    return said(datetime.fromtimestamp(time.time() + seconds, UTC))


def terms(start: float, end: float, count: int = 1, **more: Any) -> dict[str, Any]:
    """So many hosts, from and to so many seconds from now."""
    spec = {"start": at(start), "end": at(end), "reservations": [{"count": count}], "before_end": 0, **more}
    return complete(spec, time.time())


class Lab:
    """The cell: a controller, an agent, and hosts."""

    def __init__(self, dsn: str, nats: Nats, cloud: SimCloud, cell: str, pace: Pace = PACE) -> None:
        self.dsn = dsn
        self.nats = nats
        self.cloud = cloud
        self.cell = cell
        self.pace = pace
        self.region = f"r{secrets.token_hex(3)}"
        self.lane = f"{RACK}.{self.region}"
        self.world = SimWorld(cloud, self.region, RACK)
        self._stack = AsyncExitStack()
        self.one: Controller

    async def __aenter__(self) -> Self:
        self.one = await self._stack.enter_async_context(self.controller())
        await self._stack.enter_async_context(self.agent())
        self._stack.push_async_callback(self.world.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def controller(self) -> AsyncIterator[Controller]:
        async with whole.controller(self.dsn, self.nats, self.cell, pace=self.pace, webhooks=(HOOKS,)) as one:
            yield one

    @asynccontextmanager
    async def agent(self, name: str = "rack", drivers: Mapping[str, Driver] | None = None) -> AsyncIterator[Agent]:
        """One that hands hosts over; by the simulated rack, unless it has drivers of its own."""
        own = self.world.driver(timeout=PACE.call)
        async with Bus(self.nats.url, self.cell, agent=name) as bus:
            await bus.connect(60)
            agent = Agent(bus, name, drivers or {self.lane: own})
            async with whole.running(agent.run()):
                yield agent
        await own.close()

    async def hosts(self, *names: str, **properties: Any) -> None:
        for name in names:
            await self.one.store.hosts.put(name, self.lane, properties, None)

    async def ask(self, action: str, path: str, spec: Mapping[str, Any] | None = None) -> UUID:
        """Ask for something that is to be accepted; its operation."""
        answer = await self.one.admission.admit(*requested("lease", path, Request(action), "ann", spec or {}))
        assert isinstance(answer, Accepted), answer
        return UUID(answer.operation)

    async def refused(self, action: str, path: str, spec: Mapping[str, Any] | None = None) -> str:
        answer = await self.one.admission.admit(*requested("lease", path, Request(action), "ann", spec or {}))
        assert isinstance(answer, Rejection), answer
        return answer.reasons[0].message

    async def do(self, action: str, path: str, spec: Mapping[str, Any] | None = None) -> tuple[str, str]:
        """Ask for something and wait for its end: the outcome, and what is said of it."""
        operation = await self.ask(action, path, spec)
        async with asyncio.timeout(60):
            while (record := await self.one.store.operations.read(operation)) is None or not record["outcome"]:
                await asyncio.sleep(0.03)
        return record["outcome"], record["says"]

    async def state(self, path: str) -> str:
        row = await self.one.store.resources.read(path)
        return row.snapshot.state if row is not None else ""

    async def until(self, path: str, state: str) -> None:
        """Wait until it is in a state, and nothing goes on."""

        async def holds() -> bool:
            row = await self.one.store.resources.read(path)
            if row is None:
                return not state
            return row.snapshot.state == state and row.snapshot.operation is None

        await whole.until(holds, 60)

    async def parts(self, path: str) -> dict[str, Mapping[str, Any]]:
        """The reservations of a lease, by name."""
        found = (await self.one.store.leases.read_reservations([path]))[path]
        return {part["path"].rsplit("/", 1)[1]: part for part in found}

    async def events(self, path: str) -> dict[str, str]:
        return {event["kind"]: event["status"] for event in (await self.one.store.leases.read_events([path]))[path]}
