"""The bus loses everything, or is away: whatever it should have carried is sent again, and once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from stead.bus import Bus, Consumer
from stead.bus.messages import Order
from stead.controller.reconcilers.redispatch import RedispatchReconciler
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import agent, ask, controller, settled, until

WITHOUT = ("redispatch", "clock")
PATHS = [f"/ns/m/g/{i}" for i in range(5)]


@pytest.fixture
def nats() -> Iterator[Nats]:
    with Nats() as server:
        yield server


async def test_orders_that_the_bus_forgot(migrated: str, nats: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats, cell, without=WITHOUT) as one:
        heal = RedispatchReconciler(one.executor, one.bus)
        before = await one.store.cell.read()
        assert await heal() == 0
        epoch = (await one.store.cell.read())["bus_epoch"]
        assert (before["bus_identity"], epoch) == ("", before["bus_epoch"])  # the first bus of a cell replaces none
        for path in PATHS:
            await ask(one, world, "create", path)
        nats.kill()
        nats.wipe()
        nats.start()

        async def healed() -> bool:
            await heal()
            return bool((await one.store.cell.read())["bus_epoch"] == epoch + 1)

        await until(healed)
        assert await healed()
        async with agent(nats, cell, world):
            for path in PATHS:
                await settled(one, "Running", path)
        tokens = [str(row.token) for row in (await one.store.resources.read_many(PATHS)).values()]
        assert [await world.made(token) for token in tokens] == [1] * 5


async def test_orders_that_were_accepted_without_a_bus(migrated: str, nats: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats, cell, without=WITHOUT) as one:
        heal = RedispatchReconciler(one.executor, one.bus)
        await heal()
        epoch = (await one.store.cell.read())["bus_epoch"]
        nats.kill()
        await ask(one, world, "create")
        await heal()
        nats.start()

        async def connected() -> bool:
            return one.bus.connected

        await until(connected)
        await heal()
        assert (await one.store.cell.read())["bus_epoch"] == epoch  # the same streams, which only were away
        async with agent(nats, cell, world):
            await settled(one, "Running")


async def test_orders_of_an_earlier_incarnation_are_sent_again(
    migrated: str, nats: Nats, cell: str, world: SimWorld
) -> None:
    """After a failover agents reject what is on the bus: an order that waits there must not wait for its timer."""
    lane = f"{world.provider}.{world.region}"
    async with (
        controller(migrated, nats, cell, without=WITHOUT) as one,
        Bus(nats.url, cell, agent="a1") as bus,
    ):
        await bus.connect(60)
        heal = RedispatchReconciler(one.executor, one.bus)
        for path in PATHS:
            await ask(one, world, "create", path)
        async with bus.orders(lane) as orders:
            earlier = await fetched(orders, heal)
            later = await one.store.cell.raise_incarnation()
            again = await fetched(orders, heal)
            await heal()
            assert await orders.fetch(1, timeout=0.1) == []
        assert later not in earlier.values()
        assert again == dict.fromkeys(earlier, later)


async def fetched(orders: Consumer[Order], heal: RedispatchReconciler) -> dict[int, int]:
    """The incarnations of the orders on a lane, by their numbers. What could not be published is sent again."""
    found: dict[int, int] = {}
    async with asyncio.timeout(60):
        while len(found) < len(PATHS):
            await heal()
            for delivery in await orders.fetch(timeout=0.5):
                (member,) = delivery.message.members
                found[delivery.message.id] = member.fence.incarnation
                await delivery.ack()
    return found


async def test_a_controller_that_runs_mends_it_by_itself(
    migrated: str, nats: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats, cell, without=("clock",)) as one:
        await ask(one, world, "create")
        nats.kill()
        nats.wipe()
        nats.start()
        async with agent(nats, cell, world):
            await settled(one, "Running")
