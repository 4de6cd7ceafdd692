"""Lanes: what an order costs, from commit to taken, where there are ten thousand lanes instead of a hundred."""

from __future__ import annotations

from bench.dispatch import ours
from bench.figure import Figure, middle
from bench.ground import postgres
from tests.servers import Nats

BAR = 1.5


async def measure(small: bool) -> list[Figure]:
    """The ratio of costs; the same number of orders, spread over all lanes."""
    few, many = (20, 200) if small else (100, 10_000)
    times, orders = (1, 400) if small else (2, 10_000)
    costs: dict[int, list[float]] = {few: [], many: []}
    with postgres() as server, Nats() as nats:
        for _ in range(times):
            for count, found in costs.items():
                lanes = [f"sim.r{i:05}" for i in range(count)]
                found.append(1 / await ours(server, nats, lanes, orders))
    ratio = middle([a / b for a, b in zip(costs[many], costs[few], strict=True)])
    detail = {f"orders a second on {count:,} lanes": round(1 / middle(found)) for count, found in costs.items()}
    return [Figure("lanes", ratio, "times the cost", f"{few:,} lanes", BAR, at_most=True, detail=detail)]
