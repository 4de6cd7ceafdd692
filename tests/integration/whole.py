"""A whole cell in one process: controllers and agents on a real PostgreSQL, NATS and simulated cloud."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from typing import Any

from stead.agent import Agent
from stead.build import assemble_engine
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.events import Request
from stead.lifecycle.pace import DEFAULT, Pace
from stead.store import Store
from tests.action_requests import requested
from tests.drivers.cloud import SimWorld

log = logging.getLogger(__name__)

PATH = "/ns/m/g/1"


@asynccontextmanager
async def running(*works: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        ends = await asyncio.gather(*tasks, return_exceptions=True)
        for end in ends:
            if isinstance(end, Exception):
                log.warning("what was to run has ended: %r", end)


@asynccontextmanager
async def controller(
    dsn: str,
    nats: Nats,
    cell: str,
    *,
    pace: Pace = DEFAULT,
    without: Collection[str] = (),
    webhooks: Sequence[str] = (),
) -> AsyncIterator[Controller]:
    """A controller that runs, without some of its healers."""
    async with Store.open(dsn, connections=5) as store, Bus(nats.url, cell) as bus:
        await bus.connect(60)
        await bus.identity()  # what it does first, and in its own time
        one = assemble_engine(store, bus, pace=pace, webhooks=webhooks).controller
        one.healers = tuple(healer for healer in one.healers if healer.name not in without)
        async with running(one.run()):
            yield one


@asynccontextmanager
async def agent(nats: Nats, cell: str, world: SimWorld, name: str = "a1", **config: Any) -> AsyncIterator[Agent]:
    driver = world.driver(**config)
    async with Bus(nats.url, cell, agent=name) as bus:
        await bus.connect(60)
        worker = Agent(bus, name, {f"{world.provider}.{world.region}": driver})
        async with running(worker.run()):
            yield worker
    await driver.close()


async def until(holds: Callable[[], Awaitable[bool]], within: float = 60.0) -> None:
    async with asyncio.timeout(within):
        while not await holds():
            await asyncio.sleep(0.02)


async def ask(one: Controller, world: SimWorld, action: str, path: str = PATH) -> Accepted:
    lane = f"{world.provider}.{world.region}"
    answer = await one.admission.admit(*requested("vm", path, Request(action), "ann", {"cpu": 2}, lane))
    assert isinstance(answer, Accepted), answer
    return answer


async def settled(one: Controller, state: str, path: str = PATH) -> None:
    async def holds() -> bool:
        row = await one.store.resources.read(path)
        return row is not None and row.snapshot.state == state and row.snapshot.operation is None

    await until(holds)
