"""One VM through every layer: real PostgreSQL, real NATS, a simulated cloud in a process of its own."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager

import pytest

from stead.agent import Agent
from stead.bus import Bus
from stead.catalog import KINDS
from stead.controller.admission import Accepted, Wish
from stead.controller.runtime import Controller
from stead.lifecycle.events import Request
from stead.store import Store
from tests.drivers.cloud import SimCloud, SimWorld
from tests.servers import Nats

PATH = "/ns/m/g/1"


@pytest.fixture(scope="module")
def cloud() -> Iterator[SimCloud]:
    with SimCloud("--seed", "1") as server:
        yield server


@asynccontextmanager
async def running(*works: Awaitable[None]) -> AsyncIterator[None]:
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@asynccontextmanager
async def controller(dsn: str, nats: Nats, cell: str) -> AsyncIterator[Controller]:
    async with Store.open(dsn, connections=5) as store, Bus(nats.url, cell) as bus:
        await bus.connect(5)
        one = Controller(store, bus, KINDS)
        async with running(one.run()):
            yield one


@asynccontextmanager
async def agent(nats: Nats, cell: str, world: SimWorld, name: str = "a1") -> AsyncIterator[Agent]:
    driver = world.driver()
    async with Bus(nats.url, cell) as bus:
        await bus.connect(5)
        worker = Agent(bus, name, 1, {f"{world.provider}.{world.region}": driver})
        async with running(worker.run()):
            yield worker
    await driver.close()


async def until(holds: Callable[[], Awaitable[bool]], within: float = 20.0) -> None:
    async with asyncio.timeout(within):
        while not await holds():
            await asyncio.sleep(0.02)


async def ask(one: Controller, world: SimWorld, action: str, path: str = PATH) -> Accepted:
    lane = f"{world.provider}.{world.region}"
    answer = await one.admission.ask(Wish("vm", path, Request(action), "ann", {"cpu": 2}, lane))
    assert isinstance(answer, Accepted), answer
    return answer


async def settled(one: Controller, state: str, path: str = PATH) -> None:
    async def holds() -> bool:
        row = await one.store.read(path)
        return row is not None and row.snapshot.state == state and row.snapshot.operation is None

    await until(holds)


async def test_create_suspend_resume_reboot_terminate(migrated: str, nats_server: Nats, cloud: SimCloud) -> None:
    cell, world = f"t{secrets.token_hex(4)}", SimWorld(cloud)
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        steps = {
            "create": "Running",
            "suspend": "Suspended",
            "resume": "Running",
            "reboot": "Running",
            "terminate": "Terminated",
        }
        for action, state in steps.items():
            await ask(one, world, action)
            await settled(one, state)

        async def numbered() -> bool:
            lines = await one.store.journal(0)
            return [x["target"] for x in lines][-2:] == ["Terminating", "Terminated"]

        await until(numbered)
        assert await one.store.claims("/", 9) == []
        row = await one.store.read(PATH)
        assert row is not None
        assert await world.made(str(row.token)) == 1
    await world.close()


async def test_an_agent_that_comes_later_finds_the_order(migrated: str, nats_server: Nats, cloud: SimCloud) -> None:
    cell, world = f"t{secrets.token_hex(4)}", SimWorld(cloud)
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
        async with agent(nats_server, cell, world):
            await settled(one, "Running")
    await world.close()


async def test_another_controller_carries_on(migrated: str, nats_server: Nats, cloud: SimCloud) -> None:
    cell, world = f"t{secrets.token_hex(4)}", SimWorld(cloud)
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
    async with controller(migrated, nats_server, cell) as two, agent(nats_server, cell, world):
        await settled(two, "Running")
    await world.close()


async def test_a_hundred_at_once_through_two_agents(migrated: str, nats_server: Nats, cloud: SimCloud) -> None:
    cell, world = f"t{secrets.token_hex(4)}", SimWorld(cloud)
    paths = [f"/ns/m/g/{i}" for i in range(100)]
    async with (
        controller(migrated, nats_server, cell) as one,
        agent(nats_server, cell, world, "a1"),
        agent(nats_server, cell, world, "a2"),
    ):
        await asyncio.gather(*(ask(one, world, "create", path) for path in paths))
        await asyncio.gather(*(settled(one, "Running", path) for path in paths))
        tokens = [str(row.token) for row in (await one.store.read_many(paths)).values()]
        assert [await world.made(token) for token in tokens] == [1] * 100
    await world.close()


async def test_throttling_and_a_lost_reply_are_lived_through(
    migrated: str, nats_server: Nats, cloud: SimCloud
) -> None:
    cell, world = f"t{secrets.token_hex(4)}", SimWorld(cloud)
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        await world.lose_reply("create")
        await ask(one, world, "create")
        await settled(one, "Running")
        row = await one.store.read(PATH)
        assert row is not None
        assert await world.made(str(row.token)) == 1
    await world.close()
