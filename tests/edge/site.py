"""A cell with one site of the simulated cloud, within the test."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

import asyncpg

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.admission import Admission
from stead.controller.admission.request import Accepted, NotFound
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.decision import Rejection
from stead.lifecycle.events import Request
from stead.lifecycle.pace import Pace
from stead.store import Row
from tests.action_requests import requested
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration import whole

PACE = Pace(custody=4, call=2, resend=2, again=1, probe=10, undo=10, unseen_work=10, step=2, look=300, away=3)
"""Everything soon, so that a test need not wait."""

KINDS = {1: "cloudlet", 2: "clusterinst", 3: "appinst"}
"""By how deep in a namespace they lie."""

_LATER = datetime(2100, 1, 1, tzinfo=UTC)

APP = {"command": ["serve"]}


class Edge:
    """The cell: a controller, and whatever agents a test lets connect."""

    def __init__(self, dsn: str, nats: Nats, cloud: SimCloud, cell: str) -> None:
        self.dsn = dsn
        self.nats = nats
        self.cloud = cloud
        self.cell = cell
        self.name = f"s{secrets.token_hex(3)}"
        self.site = f"/ns/{self.name}"
        self.lane = f"edge.ns.{self.name}"
        self.world = SimWorld(cloud, f"ns.{self.name}", "edge")
        self._stack = AsyncExitStack()
        self.one: Controller
        self.door: Admission
        """Whom requests are brought to."""

    async def __aenter__(self) -> Self:
        self.one = await self._stack.enter_async_context(self.controller())
        self.door = self.one.admission
        self._stack.push_async_callback(self.world.close)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    @asynccontextmanager
    async def controller(self) -> AsyncIterator[Controller]:
        async with whole.controller(self.dsn, self.nats, self.cell, pace=PACE) as one:
            yield one

    @asynccontextmanager
    async def agent(self, name: str = "crm") -> AsyncIterator[Agent]:
        """A new run of the site's agent; it is killed at the end."""
        driver = self.world.driver(timeout=PACE.call)
        async with Bus(self.nats.url, self.cell, agent=name) as bus:
            await bus.connect(60)
            agent = Agent(bus, name, {self.lane: driver})
            async with whole.running(agent.run()):
                yield agent
        await driver.close()

    async def say(self, action: str, path: str, spec: Mapping[str, Any] | None = None, **how: Any) -> Any:
        """Ask for something; the answer, whatever it is."""
        kind = KINDS[path.count("/") - 1]
        wish = requested(kind, path, Request(action, **how), "ann", spec or {}, self.lane)
        return await self.door.admit(*wish)

    async def ask(self, action: str, path: str, spec: Mapping[str, Any] | None = None, **how: Any) -> UUID:
        """Ask for something that is to be accepted; its operation."""
        answer = await self.say(action, path, spec, **how)
        assert isinstance(answer, Accepted), answer
        return UUID(answer.operation)

    async def refused(self, action: str, path: str, spec: Mapping[str, Any] | None = None, **how: Any) -> str:
        """Ask for something that is not to be; what is said."""
        answer = await self.say(action, path, spec, **how)
        assert isinstance(answer, Rejection | NotFound), answer
        return answer.message if isinstance(answer, NotFound) else "; ".join(r.message for r in answer.reasons)

    async def do(self, action: str, path: str, spec: Mapping[str, Any] | None = None, **how: Any) -> str:
        """Ask for something and wait for its end; the outcome."""
        return await self.end(await self.ask(action, path, spec, **how))

    async def end(self, operation: UUID, within: float = 60.0) -> str:
        record = await self.one.store.operations.read(operation)
        async with asyncio.timeout(within):
            while record is None or not record["outcome"]:
                await asyncio.sleep(0.03)
                record = await self.one.store.operations.read(operation)
        outcome: str = record["outcome"]
        return outcome

    async def row(self, path: str) -> Row | None:
        return await self.one.store.resources.read(path)

    async def notify(self, path: str) -> int:
        """The notify-id that a site knows."""
        row = await self.row(path)
        return row.snapshot.notify if row is not None else 0

    async def state(self, path: str) -> str:
        """The state; empty where there is no record."""
        row = await self.row(path)
        return row.snapshot.state if row is not None else ""

    async def until(self, path: str, state: str, within: float = 60.0) -> None:
        """Wait until it is in a state, and nothing goes on."""

        async def holds() -> bool:
            row = await self.row(path)
            if row is None:
                return not state
            return row.snapshot.state == state and row.snapshot.operation is None

        await whole.until(holds, within)

    async def until_fact(self, path: str, name: str, value: Any, within: float = 60.0) -> None:
        """Wait until a fact of a resource has a value."""

        async def holds() -> bool:
            row = await self.row(path)
            return row is not None and (row.facts or {}).get(name) == value

        await whole.until(holds, within)

    @asynccontextmanager
    async def frozen(self, path: str, state: str) -> AsyncIterator[None]:
        """A resource in a state, by whatever way it came there."""
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(
                "UPDATE resources SET state = $2, version = version + 1 WHERE path = $1", path, state
            )
            yield
        finally:
            await connection.close()

    async def moves(self, path: str) -> list[str]:
        """The states that it has been led to, in order, by whom and on what word."""
        lines = [r for r in await self.one.store.statements.fetch("read_history", path, _LATER)]
        return [f"{r['actor']} {r['trigger']} {r['target']}" for r in lines if r["source"] != r["target"]]
