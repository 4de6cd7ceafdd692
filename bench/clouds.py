"""Clouds that take a second for a call: how near an action on ten thousand VMs comes to what their limits allow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime
from math import ceil
from typing import Any

import asyncpg
import httpx

from bench.figure import Figure
from bench.ground import Stead, postgres
from stead.dev.engines import Nats, Postgres
from tests.drivers.cloud import SimCloud
from tests.lanes import with_every_lane

LIMITS = {"aws": (10, 30), "azure": (8, 25), "gcp": (12, 35), "ncp": (3, 15), "alibaba": (6, 20)}
"""Regions at once, and members at once in a region: what a new database has."""
REGIONS = 4
CALL = 1.0
"""Seconds that a call takes."""
TIME, CALLS = 1.2, 0.95
MCI = "/bench/clouds"


def file(size: int) -> dict[str, Any]:
    """An infrastructure with a subgroup of that size in every region."""
    places = [(provider, f"r{n}") for provider in LIMITS for n in range(REGIONS)]
    groups = [{"name": f"{p}-{r}", "provider": p, "region": r, "size": size} for p, r in places]
    return {"defaults": {"spec": "small", "image": "debian-12"}, "subgroups": groups}


def best(size: int) -> tuple[float, int]:
    """The least seconds that the limits allow for all, and the calls that it takes."""
    rounds = {provider: ceil(size / members) for provider, (_, members) in LIMITS.items()}
    least = {p: max(n, n * REGIONS / min(REGIONS, LIMITS[p][0])) for p, n in rounds.items()}
    return max(least.values()) * CALL, sum(rounds.values()) * REGIONS


@asynccontextmanager
async def cell(server: Postgres, nats: Nats, cloud: SimCloud) -> AsyncIterator[httpx.AsyncClient]:
    """A controller, and agents that share the places."""
    dsn = server.create_database("clouds")
    await with_every_lane(dsn)
    words = ("--nats", nats.url, "--cell", "clouds")
    lanes = [f"{provider}.r{n}" for provider in LIMITS for n in range(REGIONS)]
    with Stead("server", "server", "--open", "--database", dsn, *words) as one:
        workers = [
            Stead(
                f"agent{n}",
                *("agent", "run", *(word for lane in lanes[n::2] for word in ("--lane", lane))),
                *("--set", f"url={cloud.url}", "--name", f"a{n}", *words),
            )
            for n in range(2)
        ]
        for worker in workers:
            worker.start()
        database = await asyncpg.connect(dsn)
        try:
            while await database.fetchval("SELECT count(*) FROM agents") < len(workers):
                await asyncio.sleep(0.1)
            async with httpx.AsyncClient(base_url=one.url, timeout=60, trust_env=False) as web:
                yield web
        finally:
            await database.close()
            for worker in workers:
                worker.close()


async def act(web: httpx.AsyncClient, action: str, **body: Any) -> Mapping[str, Any]:
    """An operation on all of them, when it is done."""
    answer = await web.post(f"/v1/resources{MCI}", params={"action": action}, json=body)
    assert answer.status_code == 202, answer.text
    id = answer.json()["operation"]["id"]
    while True:
        operation: dict[str, Any] = (await web.get(f"/v1/operations/{id}")).json()
        if operation["outcome"] is not None:
            assert operation["outcome"] == "succeeded", operation
            return operation
        await asyncio.sleep(0.05)


async def calls(cloud: SimCloud, verb: str) -> int:
    """How many calls of a verb there were."""
    async with httpx.AsyncClient(base_url=cloud.url, trust_env=False) as web:
        count: int = (await web.get("/v1/_ledger")).json()["calls"].get(verb, 0)
        return count


async def measure(small: bool) -> list[Figure]:
    """Seconds against the best that is possible, and calls against one for each VM."""
    size = 30 if small else 500
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with cell(server, nats, cloud) as web:
            await act(web, "create", kind="mci", spec=file(size))
            fault = {"kind": "latency", "verb": "suspend", "seconds": CALL}
            async with httpx.AsyncClient(base_url=cloud.url, trust_env=False) as sim:
                await sim.post("/v1/_faults", json={"faults": [fault]})
            operation = await act(web, "suspend")
            made = await calls(cloud, "suspend")
    began, ended = (_seconds(operation[name]) for name in ("created_at", "ended_at"))
    least, fewest = best(size)
    vms = size * REGIONS * len(LIMITS)
    beside = f"{vms:,} VMs in {REGIONS * len(LIMITS)} regions of {len(LIMITS)} providers, {CALL:g} s a call"
    detail = {"seconds": round(ended - began, 1), "seconds at best": round(least, 1)}
    asked = {"calls": made, "calls at best": fewest, "VMs": vms}
    return [
        Figure("clouds, time", (ended - began) / least, "times the best", beside, TIME, True, detail),
        Figure("clouds, calls saved", 1 - made / vms, "of one for each VM", beside, CALLS, detail=asked),
    ]


def _seconds(when: str) -> float:
    return datetime.fromisoformat(when).timestamp()
