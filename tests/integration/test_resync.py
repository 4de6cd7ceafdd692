"""An agent that connects tells all it has, and every difference is resolved."""

from __future__ import annotations

import nats
import pytest

from stead.agent.lane_driver import LaneDriver
from stead.agent.state_sync import StateSync
from stead.bus import Bus
from stead.bus.codec import FROM_AGENT
from stead.bus.messages import FullState, InventoryRequest, StateLine
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.pace import DEFAULT
from stead.lifecycle.snapshot import Fence
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until
from tests.subscribing import flushed

WITHOUT = ("drift", "orphans")


@pytest.mark.req("S1-08")
async def test_what_changed_while_no_agent_was_there(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one:
        async with agent(nats_server, cell, world):
            await ask(one, world, "create")
            await settled(one, "Running")
        row = await one.store.resources.read(PATH)
        assert row is not None
        await world.drift("stop", tokens=[str(row.token)])
        async with agent(nats_server, cell, world, "a2"):
            await settled(one, "Suspended")


@pytest.mark.req("S1-09", "S1-08")
async def test_after_an_agent_crash_what_was_requested_is_run_and_what_was_moving_is_looked_at(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    """One order is taken and its agent dies in the middle of the call; another is never taken at all."""
    pace = DEFAULT.scaled(0.1)
    async with controller(migrated, nats_server, cell, without=WITHOUT, pace=pace) as one:
        hang = await world.fault(kind="late", verb="create", seconds=60)
        async with agent(nats_server, cell, world, timeout=1):
            await ask(one, world, "create")

            async def made() -> bool:
                row = await one.store.resources.read(PATH)
                return row is not None and await world.made(str(row.token)) == 1

            await until(made)
        await ask(one, world, "create", "/ns/m/g/2")
        await world.client.delete(f"/v1/_faults/{hang}")
        async with agent(nats_server, cell, world, "a2", timeout=1):
            await settled(one, "Running", "/ns/m/g/2")
            await settled(one, "Running")
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert await world.made(str(row.token)) == 1


@pytest.mark.req("S1-03", "S1-08")
async def test_a_full_state_from_before_an_order_says_nothing(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one:
        async with agent(nats_server, cell, world) as worker:
            await ask(one, world, "create")
            await settled(one, "Running")
            lane = f"{world.provider}.{world.region}"
            (member,) = (await worker.bus.inventory(InventoryRequest(lane, agent="a1"))).members
            await ask(one, world, "suspend")
            await settled(one, "Suspended")
        old = FullState("a1", worker.session.epoch, lane, [StateLine(member.fence, "Running", PATH)], True)
        await one.bus.publish_report(old)
        gone = FullState("a1", worker.session.epoch, lane, [StateLine(await fence(one), "absent", PATH)], False)
        for _ in range(3):  # without the end mark nothing is missing
            await one.bus.publish_report(gone)
        new = FullState("a1", worker.session.epoch, lane, [StateLine(await fence(one), "Running", PATH)], True)
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert row.snapshot.state == "Suspended"
        await one.bus.publish_report(new)
        await settled(one, "Running")
        await one.store.journal.number()
        assert [line["target"] for line in await one.store.journal.read(0)][-2:] == ["Suspended", "Running"]


@pytest.mark.req("S1-08")
async def test_nothing_is_told_of_what_somebody_works_on(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    """A look from before the deed, told after its end, would be believed: the end of an order changes no fence."""
    lane = f"{world.provider}.{world.region}"
    async with (
        controller(migrated, nats_server, cell, without=WITHOUT) as one,
        agent(nats_server, cell, world) as worker,
        Bus(nats_server.url, cell, agent="a2") as second,
    ):
        await second.connect(60)
        await ask(one, world, "create")
        await settled(one, "Running")
        await ask(one, world, "create", "/ns/m/g/2")
        await settled(one, "Running", "/ns/m/g/2")
        hang = await world.fault(kind="late", verb="suspend", seconds=60)
        await ask(one, world, "suspend")

        async def taken() -> bool:
            return (await worker.bus.inventory(InventoryRequest(lane, agent="a1"))).in_progress == [PATH]

        await until(taken)
        driver = world.driver()
        told = await heard(nats_server, one, StateSync(second, "a2", 1, lane, LaneDriver(driver)))
        await driver.close()
        assert [[line.path for line in part.objects] for part in told] == [["/ns/m/g/2"], []]
        assert await one.observer.ask([row for row in (await one.store.resources.read_many([PATH])).values()]) == []
        await world.client.delete(f"/v1/_faults/{hang}")


async def heard(server: Nats, one: Controller, resync: StateSync) -> list[FullState]:
    """What a full state says."""
    client = await nats.connect(server.url)
    said = await client.subscribe(one.bus.subjects.report(resync.lane))
    await flushed(client)
    await resync.send()
    told: list[FullState] = []
    while not told or not told[-1].end:
        message = FROM_AGENT.decode((await said.next_msg(5)).data)
        told += [message] if isinstance(message, FullState) and message.agent == resync.agent else []
    await client.close()
    return told


async def fence(one: Controller) -> Fence:
    row = await one.store.resources.read(PATH)
    assert row is not None
    return row.snapshot.fence
