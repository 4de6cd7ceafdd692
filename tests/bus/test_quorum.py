"""A bus of three nodes: whichever of them are killed, orders and reports go on with any two.

What consumers know is on the disks of the nodes. In their memory alone, it would be gone with a majority of them, and
no consumer would have a leader before the last node is back.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import permutations

import pytest

from stead.bus import Bus, BusError, Unavailable
from stead.controller.health.readiness import BusReadiness
from tests.bus.samples import LANE, order, report
from tests.chaos.replicated import NatsTrio
from tests.plugins.budget import slowness

PATIENCE = 60.0
"""Seconds for a change of health to be seen; on a machine of its own it takes less than 15."""

MAX_PAUSE = 15.0
"""Seconds for orders and reports to go on with a majority back; on a busy machine, longer by as much."""

type Outage = tuple[Sequence[int], Sequence[int]]
"""Nodes that are killed, in this order, and those that are started again until a majority is back, in this order."""

ONE: Sequence[Outage] = [((node,), ()) for node in range(3)]
TWO: Sequence[Outage] = [(pair, (first,)) for pair in permutations(range(3), 2) for first in pair]
THREE: Sequence[Outage] = [(all_, back[:2]) for all_ in permutations(range(3)) for back in (all_, all_[::-1])]


@pytest.fixture
def trio() -> Iterator[NatsTrio]:
    with NatsTrio() as one:
        yield one


def busyness() -> float:
    """How many times longer than alone this machine takes for what runs on it; 1 or more."""
    return max(slowness()[0], os.getloadavg()[0] / (os.cpu_count() or 1))


async def carried(bus: Bus, heard: set[int]) -> bool:
    """Whether an order and a report get through; ids of the orders that were heard are added."""
    sent = order()
    try:
        await bus.publish_order(sent)
        await bus.publish_report(report(sent.id), timeout=2)
        async with bus.orders(LANE, ack_wait=1) as lane, bus.reports() as reports:
            orders, said = await lane.fetch(timeout=2), await reports.fetch(timeout=2)
            for delivery in (*orders, *said):
                await delivery.ack()
            heard |= {delivery.message.id for delivery in orders}
            return bool(orders and said)
    except (BusError, TimeoutError):
        return False


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize(
    "outages", [pytest.param(ONE, id="one"), pytest.param(TWO, id="two"), pytest.param(THREE, id="three")]
)
async def test_orders_and_reports_go_on_soon_after_majority_is_back(
    trio: NatsTrio, cell: str, outages: Sequence[Outage]
) -> None:
    """Each outage strikes as soon as the one before is over, whatever the nodes still have to catch up with."""
    late, heard = list[str](), set[int]()
    async with Bus(trio.url, cell, agent="agent-1", replicas=3, ping_interval=0.5) as bus:
        await bus.connect(60)
        await bus.identity()
        assert await carried(bus, set())
        for killed, back in outages:
            waiting = order()
            await bus.publish_order(waiting)  # work that is in progress when the nodes are killed
            for number in killed:
                trio.nodes[number].kill()
            for number in back:
                await asyncio.to_thread(trio.nodes[number].start)
            began = time.monotonic()
            async with asyncio.timeout(2 * PATIENCE):
                while not (await carried(bus, heard) and waiting.id in heard):
                    await asyncio.sleep(0.05)
            pause, limit = time.monotonic() - began, MAX_PAUSE * busyness()
            print(said := f"killed {killed}, back {back}: {pause:.1f} s, at most {limit:.0f} s")
            late += [said] if pause > limit else []
            for node in trio.nodes:
                if not node.running:
                    await asyncio.to_thread(node.start)
    assert late == []


@pytest.mark.long
async def test_streams_without_a_majority_are_leaderless_until_it_is_back(trio: NatsTrio, cell: str) -> None:
    async with Bus(trio.url, cell, agent="agent-1", replicas=3, ping_interval=0.5) as bus:
        await bus.connect(60)
        await bus.identity()
        assert await carried(bus, set())
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
