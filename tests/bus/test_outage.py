"""Servers that die, hang, lose their disk or throw one out."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import pytest

from stead.bus import Bus, BusState, NoAnswer, NotPublished, Unavailable
from stead.dev.engines import Nats
from tests.bus.samples import LANE, States, drain, granted, order, report, take

UP, DOWN = BusState.CONNECTED, BusState.DISCONNECTED


async def test_a_server_killed_and_restarted_goes_on_where_it_was(own_bus: Bus, own_nats: Nats) -> None:
    states = States(own_bus)
    identity = await own_bus.identity()
    before = [order() for _ in range(6)]
    await own_bus.publish_orders(before)
    async with own_bus.orders(LANE, ack_wait=1) as lane:
        for delivery in await lane.fetch(2):
            await delivery.ack()
        assert await lane.fetch(timeout=0) != []
        own_nats.kill()
        await states.become(DOWN)
        with pytest.raises(Unavailable):
            await own_bus.publish_order(order())
        with pytest.raises(NotPublished, match="2 of 2"):
            await own_bus.publish_orders([order(), order()])
        own_nats.start()
        await states.become(UP)
        after = order()
        assert await own_bus.publish_order(after) is False
        # It still holds this one. Of those that were acknowledged it has forgotten even the ids.
        assert await own_bus.publish_order(before[2]) is True
        found = [delivery.message.id for delivery in await drain(lane, 5)]
    assert sorted(found) == [one.id for one in [*before[2:], after]]
    assert await own_bus.identity() == identity


async def test_what_waits_survives_the_outage(own_bus: Bus, own_nats: Nats) -> None:
    states = States(own_bus)
    await own_bus.take_custody.serve(granted)
    async with own_bus.orders(LANE) as lane, own_bus.reports() as reports:
        await lane.fetch(timeout=0)
        fetching = asyncio.create_task(lane.fetch(timeout=20))
        await asyncio.sleep(0)
        await own_bus.identity()  # the server has heard what was sent before this
        own_nats.kill()
        await states.become(DOWN)
        reporting = asyncio.create_task(own_bus.publish_report(report()))
        taking = asyncio.create_task(own_bus.take_custody(take(), timeout=20))
        own_nats.start()
        await states.become(UP)
        await reporting
        assert (await taking).ok
        await own_bus.publish_order(order())
        assert len(await fetching) == 1
        assert [delivery.message for delivery in await reports.fetch()] == [report()]


async def test_a_lost_disk_is_another_identity_and_work_goes_on(own_bus: Bus, own_nats: Nats) -> None:
    states = States(own_bus)
    identity = await own_bus.identity()
    kept = order()
    await own_bus.publish_order(kept)
    async with own_bus.orders(LANE) as lane:
        await lane.fetch(timeout=0)
        own_nats.kill()
        own_nats.wipe()
        await states.become(DOWN)
        own_nats.start()
        await states.become(UP)
        fetching = asyncio.create_task(lane.fetch(timeout=20))
        with pytest.raises(Unavailable, match="nobody listens"):
            await own_bus.publish_order(kept)
        renewed = await own_bus.identity()
        assert renewed.orders != identity.orders
        assert renewed.reports != identity.reports
        # The new stream knows nothing of the old one's messages: the same order is not taken for a repeat.
        assert await own_bus.publish_order(kept) is False
        assert [delivery.message for delivery in await fetching] == [kept]


async def test_an_acknowledgement_that_cannot_be_said_is_no_error(own_bus: Bus, own_nats: Nats) -> None:
    states = States(own_bus)
    await own_bus.publish_order(order())
    async with own_bus.orders(LANE, ack_wait=0.5) as lane:
        (delivery,) = await lane.fetch()
        own_nats.kill()
        await states.become(DOWN)
        await delivery.working()
        await delivery.ack()
        own_nats.start()
        await states.become(UP)
        (again,) = await lane.fetch()
    assert again.message == delivery.message


async def test_what_is_under_way_fails_when_the_connection_breaks(own_bus: Bus, own_nats: Nats) -> None:
    await own_bus.publish_order(order())
    os.kill(own_nats.pid, signal.SIGSTOP)
    start = time.monotonic()
    publishing = asyncio.create_task(own_bus.publish_order(order(), timeout=60))
    looking = asyncio.create_task(own_bus.identity())
    asking = asyncio.create_task(own_bus.take_custody(take(), timeout=2))
    await asyncio.sleep(0)
    own_nats.kill()
    with pytest.raises(NoAnswer, match="connection broke"):
        await publishing
    with pytest.raises(
        Unavailable, match=r"connection (broke|closed)"
    ):  # it asks for several streams, one after another
        await looking
    with pytest.raises(NoAnswer, match=r"not connected|broke|ended"):
        await asking
    assert time.monotonic() - start < 30


async def test_a_server_that_hangs_is_noticed(own_bus: Bus, own_nats: Nats) -> None:
    states = States(own_bus)
    os.kill(own_nats.pid, signal.SIGSTOP)
    await states.become(DOWN)
    assert not own_bus.connected
    os.kill(own_nats.pid, signal.SIGCONT)
    await states.become(UP)
    await own_bus.publish_order(order())


async def test_a_connection_ended_by_the_server_with_an_error_is_made_anew(own_bus: Bus) -> None:
    states = States(own_bus)
    await own_bus.take_custody.serve(granted)
    async with own_bus.orders(LANE) as lane:
        await lane.fetch(timeout=0)
        transport = own_bus._link.client()._transport
        assert transport is not None
        transport.write(b"NONSENSE\r\n")
        await states.become(DOWN)
        await states.become(UP)
        assert (await own_bus.take_custody(take())).ok
        await own_bus.publish_order(order())
        assert len(await lane.fetch()) == 1


async def test_a_bus_may_be_there_before_its_server(cell: str) -> None:
    server = Nats()
    try:
        async with Bus(server.url, cell, agent="agent-1") as bus:
            with pytest.raises(Unavailable, match="not open"):
                await bus.publish_order(order())
            with pytest.raises(Unavailable, match="not connected"):
                await bus.connect(0.2)
            states = States(bus)
            lane = bus.orders(LANE)
            await bus.take_custody.serve(granted)
            with pytest.raises(Unavailable, match="not connected"):
                await lane.fetch(timeout=0.1)
            server.start()
            await states.become(UP)
            await bus.identity()
            assert (await bus.take_custody(take())).ok
            await bus.publish_order(order())
            assert len(await lane.fetch()) == 1
        with pytest.raises(Unavailable, match="closed"):
            await bus.publish_order(order())
    finally:
        server.close()


async def test_a_bus_closes_quickly_while_its_server_is_away(cell: str) -> None:
    server = Nats()
    try:
        bus = Bus(server.url, cell)
        with pytest.raises(Unavailable):
            await bus.connect(0.05)
        start = time.monotonic()
        await bus.close()
        assert time.monotonic() - start < 10
    finally:
        server.close()


async def test_a_failing_callback_harms_nobody(own_bus: Bus, own_nats: Nats) -> None:
    def fails(_: BusState) -> None:
        raise RuntimeError("not mine")

    own_bus.on_state(fails)
    states = States(own_bus)
    own_nats.restart()
    await states.become(DOWN)
    await states.become(UP)
    await own_bus.publish_order(order())
