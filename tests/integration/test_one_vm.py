"""One VM through every layer: real PostgreSQL, real NATS, a simulated cloud in a process of its own."""

from __future__ import annotations

import asyncio

import pytest

from stead.dev.engines import Nats
from stead.lifecycle.pace import DEFAULT
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until


async def test_create_suspend_resume_reboot_terminate(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
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
            lines = await one.store.journal.read(0)
            return [x["target"] for x in lines][-2:] == ["Terminating", "Terminated"]

        await until(numbered)
        assert await one.store.claims.list_below("/", 9) == []
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert await world.made(str(row.token)) == 1


async def test_an_agent_that_comes_later_finds_the_order(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
        async with agent(nats_server, cell, world):
            await settled(one, "Running")


async def test_another_controller_carries_on(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
    async with controller(migrated, nats_server, cell) as two, agent(nats_server, cell, world):
        await settled(two, "Running")


@pytest.mark.long
async def test_a_hundred_at_once_through_two_agents(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    paths = [f"/ns/m/g/{i}" for i in range(100)]
    async with (
        controller(migrated, nats_server, cell) as one,
        agent(nats_server, cell, world, "a1"),
        agent(nats_server, cell, world, "a2"),
    ):
        await asyncio.gather(*(ask(one, world, "create", path) for path in paths))
        await asyncio.gather(*(settled(one, "Running", path) for path in paths))
        tokens = [str(row.token) for row in (await one.store.resources.read_many(paths)).values()]
        assert [await world.made(token) for token in tokens] == [1] * 100


async def test_throttling_and_a_lost_reply_are_lived_through(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        await world.lose_reply("create")
        await ask(one, world, "create")
        await settled(one, "Running")
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert await world.made(str(row.token)) == 1


async def test_a_driver_whose_calls_are_too_long_for_the_cell_is_told_of(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    pace = DEFAULT.scaled(0.1)
    async with (
        controller(migrated, nats_server, cell, pace=pace) as one,
        agent(nats_server, cell, world, timeout=5),
    ):
        await ask(one, world, "create")
        await settled(one, "Failed")
        await one.store.journal.number()
        said = (await one.store.journal.read(0))[-1]["change"]["error"]
        assert said == "a call of the driver may last 5 s, and the cell allows 1 s"
