"""Lanes: what an order costs, from commit to taken, where there are ten thousand lanes instead of a hundred.

Orders come at the same pace in both, so few that they come one by one. (In a burst of one order for each lane a
hundred lanes are cheaper still, since an agent fetches many orders of one lane at once.) The cost is the processor
time of all who take part: the server of the bus, the database, the controller and the agents.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from pathlib import Path

from bench.dispatch import all_taken, standing
from bench.figure import Figure, middle
from bench.ground import postgres
from stead.catalog import KINDS
from stead.controller.dispatch.publisher import order_of
from stead.dev.engines import Nats, Postgres

BAR = 1.5
AGENTS = 4
"""That share the lanes."""
PACE = 500
"""Orders a second."""
TICK = os.sysconf("SC_CLK_TCK")


async def measure(small: bool) -> list[Figure]:
    """The ratio of costs; the same number of orders, spread over all lanes."""
    few, many = (20, 200) if small else (100, 10_000)
    times, orders = (1, 500) if small else (2, 6_000)
    costs: dict[int, list[float]] = {few: [], many: []}
    with postgres() as server, Nats() as nats:
        for _ in range(times):
            for count, found in costs.items():
                found.append(await cost(server, nats, count, orders))
    ratio = middle([a / b for a, b in zip(costs[many], costs[few], strict=True)])
    detail = {f"ms an order on {count:,} lanes": round(1000 * middle(found), 2) for count, found in costs.items()}
    return [Figure("lanes", ratio, "times the cost", f"{few:,} lanes", BAR, at_most=True, detail=detail)]


async def cost(server: Postgres, nats: Nats, lanes: int, orders: int) -> float:
    """Seconds of processor time for one order."""
    names = [f"sim.r{i:05}" for i in range(lanes)]
    async with standing(server, nats, names, orders, AGENTS) as (store, bus, told):
        before, began = busy(), time.perf_counter()
        for n, batch in enumerate(itertools.batched(told, 10)):
            await bus.publish_orders([order_of(order, KINDS) for order in batch])
            await asyncio.sleep(max(0.0, began + (n + 1) * 10 / PACE - time.perf_counter()))
        await all_taken(store)
        return (busy() - before) / orders


def busy() -> float:
    """Seconds of processor time that this process and those below it have had."""
    times, parents = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = int(entry.parent.name), entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended meanwhile
        parents[pid] = int(rest[1])
        times[pid] = (int(rest[11]) + int(rest[12])) / TICK
    ours = new = {os.getpid()}
    while new:
        new = {pid for pid, parent in parents.items() if parent in new}
        ours |= new
    return sum(times[pid] for pid in ours)
