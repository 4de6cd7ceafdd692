"""A bus of three nodes: whichever of them are killed, orders and reports go on with any two.

What consumers know is on the disks of the nodes. In their memory alone, it would be gone with a majority of them, and
no consumer would have a leader before the last node is back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from stead.bus import Bus, BusError, Unavailable
from stead.controller.health.readiness import BusReadiness
from tests.bus.samples import LANE, order, report
from tests.chaos.replicated import NatsTrio

PATIENCE = 60.0
"""Seconds for orders and reports to go on when two nodes are back; on a machine of its own it takes less than 15."""

OUTAGES = [
    pytest.param((0, 1, 2), (0, 1), id="all-but-the-last-come-back"),
    pytest.param((2, 1, 0), (2, 1), id="all-but-the-first-come-back"),
    pytest.param((1, 0), (1,), id="two-are-killed-and-one-comes-back"),
]


@pytest.fixture
def trio() -> Iterator[NatsTrio]:
    with NatsTrio() as one:
        yield one


async def carried(bus: Bus) -> bool:
    """Whether an order and a report get through, and are heard."""
    sent = order()
    try:
        await bus.publish_order(sent)
        await bus.publish_report(report(sent.id), timeout=5)
        async with bus.orders(LANE, ack_wait=1) as lane, bus.reports() as reports:
            for consumer in (lane, reports):
                for delivery in await consumer.fetch(timeout=5):
                    await delivery.ack()
                    break
                else:
                    return False
    except (BusError, TimeoutError):
        return False
    return True


@pytest.mark.long
@pytest.mark.parametrize(("killed", "back"), OUTAGES)
async def test_orders_and_reports_go_on_with_any_two_of_three_nodes(
    trio: NatsTrio, cell: str, killed: Sequence[int], back: Sequence[int]
) -> None:
    async with Bus(trio.url, cell, agent="agent-1", replicas=3, ping_interval=0.5) as bus:
        await bus.connect(60)
        await bus.identity()
        assert await carried(bus)
        for number in killed:
            trio.nodes[number].kill()
        for number in back:
            await asyncio.to_thread(trio.nodes[number].start)
        began = time.monotonic()
        async with asyncio.timeout(PATIENCE):
            while not await carried(bus):
                await asyncio.sleep(0.1)
        print(f"{time.monotonic() - began:.1f} s")


@pytest.mark.long
async def test_streams_without_a_majority_are_leaderless_until_it_is_back(trio: NatsTrio, cell: str) -> None:
    async with Bus(trio.url, cell, agent="agent-1", replicas=3, ping_interval=0.5) as bus:
        await bus.connect(60)
        await bus.identity()
        assert await carried(bus)
        await becomes(bus, leaderless=False)
        for node in trio.nodes[:2]:
            node.kill()
        await becomes(bus, leaderless=True)
        with pytest.raises(Unavailable, match="streams or consumers of the bus have no leader"):
            await BusReadiness(bus, interval=0)()
        await asyncio.to_thread(trio.nodes[0].start)
        await becomes(bus, leaderless=False)
        await BusReadiness(bus, interval=0)()


async def becomes(bus: Bus, *, leaderless: bool) -> None:
    """Until the bus says so of its streams and consumers."""
    async with asyncio.timeout(2 * PATIENCE):
        while True:
            with suppress(BusError):
                said = await bus.stream_health()
                if said is not None and not said["missing"] and bool(said["leaderless"]) is leaderless:
                    return
            await asyncio.sleep(0.1)
