"""One soak: what the cell can do is measured, then it does half of that for long, and is looked at all the while."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from statistics import quantiles

import asyncpg

from bench.fleet import LANES
from bench.ground import Stead, filled, postgres
from bench.soak.flat import Trend, trends
from bench.soak.samples import Sample, Watched
from bench.soak.users import Users
from stead.dev.children import free_port
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

NAME = "soak"
SERVERS = AGENTS = 2

SETTLE = 120.0
"""Seconds after the last request by which all has to be settled."""

ENDED = "SELECT outcome, count(*) FROM ended_operations WHERE kind IN ('mci', 'vm') GROUP BY 1"
"""Of what was asked for; networks and the like have operations of their own."""


@dataclass(frozen=True)
class Plan:
    """How long, and for how many."""

    minutes: float = 60.0
    measured: float = 60.0
    """Seconds for which as much is asked for as is answered."""
    every: float = 15.0
    """Seconds between two looks."""
    users: int = 400
    part: float = 0.5
    """Of what the cell can do."""


@dataclass
class Result:
    """What came of it."""

    plan: Plan
    capacity: float
    """Operations a second, from request to end."""
    samples: list[Sample] = field(default_factory=list)
    accepted: int = 0
    ended: dict[str, int] = field(default_factory=dict)
    told: dict[str, int] = field(default_factory=dict)

    @property
    def lost(self) -> int:
        """Operations that were accepted and did not end as they were to."""
        return self.accepted - self.ended.get("succeeded", 0)

    @property
    def trends(self) -> list[Trend]:
        return trends(self.samples)

    @property
    def line(self) -> str:
        """The last line of a run."""
        growing = [trend.name for trend in self.trends if not trend.flat]
        return (
            f"soak: {self.plan.minutes:g} minutes at {self.plan.part * self.capacity:.0f} of {self.capacity:.0f} "
            f"operations a second, {self.accepted} accepted, {self.lost} lost, "
            f"{len(self.trends) - len(growing)} of {len(self.trends)} flat"
            + (f", not: {', '.join(growing)}" if growing else "")
        )


@asynccontextmanager
async def cell() -> AsyncIterator[tuple[Watched, list[str]]]:
    """Controllers and agents of an empty cell, and where they listen."""
    watch = free_port()
    with ExitStack() as stack:
        database = stack.enter_context(postgres())
        nats = stack.enter_context(Nats("--http_port", str(watch)))
        cloud = stack.enter_context(SimCloud())
        dsn = await filled(database, NAME, 0, LANES)
        words = ("--nats", nats.url, "--cell", NAME)
        processes: dict[str, Stead] = {}
        for n in range(1, SERVERS + 1):
            name = f"server-{n}"
            processes[name] = stack.enter_context(Stead(name, "server", "--open", "--database", dsn, *words))
        for n in range(1, AGENTS + 1):
            name = f"agent-{n}"
            lanes = [word for lane in LANES[n - 1 :: AGENTS] for word in ("--lane", lane)]
            told = ("--set", f"url={cloud.url}", "--name", name)
            processes[name] = stack.enter_context(Stead(name, "agent", "run", *lanes, *told, *words))
        own = await asyncpg.connect(dsn)
        try:
            while await own.fetchval("SELECT count(*) FROM agents") < AGENTS:
                await asyncio.sleep(0.1)
            watched = Watched(own, database, f"http://127.0.0.1:{watch}", {**processes, "nats": nats})
            yield watched, [one.url for one in processes.values() if one.words[0] == "server"]
        finally:
            await own.close()


async def settled(watched: Watched) -> None:
    """Until nothing is under way."""
    async with asyncio.timeout(SETTLE):
        while await watched.database.fetchval("SELECT EXISTS (SELECT FROM operations)"):
            await asyncio.sleep(0.05)


async def soak(plan: Plan, tell: Callable[[str], None]) -> Result:
    """All of it."""
    async with cell() as (watched, urls):
        users = Users(urls, plan.users)
        began = time.monotonic()
        await users.flat_out(plan.measured)
        await settled(watched)
        capacity = users.accepted / (time.monotonic() - began)
        tell(f"it can do {capacity:.0f} operations a second, from request to end")
        result = Result(plan, capacity)
        rate, began = plan.part * capacity, time.monotonic()
        asking = asyncio.create_task(users.at_rate(rate, 60 * plan.minutes))
        try:
            while not asking.done():
                await asyncio.wait([asking], timeout=plan.every)
                waits, users.waits = users.waits, []
                sample = await watched.look()
                sample |= {"seconds": time.monotonic() - began, "operations": float(users.accepted), **_times(waits)}
                result.samples.append(sample)
                tell(
                    f"{sample['seconds']:6.0f} s: {users.accepted} accepted, {sample['under way']:.0f} under way, "
                    f"answers within {sample['ms p50']:.0f} ms, 99 of 100 within {sample['ms p99']:.0f} ms"
                )
            await asking
        finally:
            asking.cancel()
        await settled(watched)
        result.accepted, result.told = users.accepted, dict(users.told)
        result.ended = {str(word): int(count) for word, count in await watched.database.fetch(ENDED)}
        return result


def _times(waits: list[float]) -> Sample:
    if len(waits) < 2:
        return {"ms p50": 0.0, "ms p99": 0.0}
    cuts = quantiles(waits, n=100)
    return {"ms p50": 1000 * cuts[49], "ms p99": 1000 * cuts[98]}
