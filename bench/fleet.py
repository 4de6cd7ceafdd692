"""A fleet: one action on ten thousand VMs, from the request until all are settled; beside single actions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
import httpx

from bench.admit import load
from bench.figure import Figure, middle
from bench.ground import Stead, add_group, filled, postgres
from stead.dev.engines import Nats, Postgres
from stead.drivers.base import Member
from stead.drivers.sim.driver import Config, SimDriver
from tests.drivers.cloud import SimCloud

BAR = 5.0
LANES = [f"{provider}.r{i}" for provider in ("aws", "azure", "gcp", "ncp", "alibaba") for i in range(4)]
FLEET = "/bench/fleet"


@dataclass
class Fleet:
    """A cell whose VMs run at a provider that answers at once."""

    server: Stead
    database: asyncpg.Connection[asyncpg.Record]
    web: httpx.AsyncClient

    async def act(self, action: str, state: str) -> float:
        """Seconds that an action on all of them takes."""
        began = time.perf_counter()
        answer = await self.web.post(f"/v1/resources{FLEET}", params={"action": action})
        assert answer.status_code == 202, answer.text
        await self.settled()
        took = time.perf_counter() - began
        assert await self.others(state) == 0
        return took

    async def others(self, state: str) -> int:
        """How many are not in a state."""
        count: int = await self.database.fetchval(
            "SELECT count(*) FROM resources WHERE kind = 'vm' AND state <> $1", state
        )
        return count

    async def each(self, action: str, seconds: float) -> tuple[float, float]:
        """Single actions a second: let in, and settled."""
        began = time.perf_counter()
        rate, done = await asyncio.to_thread(load, self.server.url, 0, seconds, self.server.folder, action)
        await self.settled()
        return rate, done / (time.perf_counter() - began)

    async def settled(self) -> None:
        """Until nothing is under way."""
        while await self.database.fetchval("SELECT EXISTS (SELECT FROM operations)"):
            await asyncio.sleep(0.02)


async def made(dsn: str, cloud: SimCloud) -> None:
    """The provider has what the database believes."""
    database = await asyncpg.connect(dsn)
    for lane in LANES:
        provider, region = lane.split(".")
        driver = SimDriver(Config(url=cloud.url, provider=provider, region=region, timeout=60))
        rows = await database.fetch("SELECT id, path, token::text FROM resources WHERE lane = $1 ORDER BY id", lane)
        for at in range(0, len(rows), driver.batch_limit("create")):
            part = rows[at : at + driver.batch_limit("create")]
            members = [Member(path=r["path"], token=r["token"], spec={"size": 1}, facts={}) for r in part]
            results = await driver.perform("create", members, f"{lane}.{at}")
            facts = [(r["id"], result.facts["id"]) for r, result in zip(part, results, strict=True)]
            await database.executemany(
                "UPDATE resources SET facts = jsonb_build_object('id', $2::text) WHERE id = $1", facts
            )
        await driver.close()
    await database.execute("VACUUM ANALYZE resources")
    await database.close()


@asynccontextmanager
async def fleet(
    server: Postgres, nats: Nats, cloud: SimCloud, vms: int, agents: int = 2, name: str = "fleet"
) -> AsyncIterator[Fleet]:
    """A cell with a fleet, a controller, and agents that share the lanes."""
    dsn = await filled(server, name, vms, LANES)
    await add_group(dsn, FLEET, "mci", "Running")
    await made(dsn, cloud)
    words = ("--nats", nats.url, "--cell", name)
    with Stead("server", "server", "--open", "--database", dsn, *words) as one:
        workers = []
        for n in range(agents):
            lanes = [word for lane in LANES[n::agents] for word in ("--lane", lane)]
            workers.append(
                Stead(f"agent{n}", "agent", "run", *lanes, "--set", f"url={cloud.url}", "--name", f"a{n}", *words)
            )
        for worker in workers:
            worker.start()
        database = await asyncpg.connect(dsn)
        try:
            while await database.fetchval("SELECT count(*) FROM agents") < agents:
                await asyncio.sleep(0.1)
            await asyncio.sleep(3)  # they tell what is there
            async with httpx.AsyncClient(base_url=one.url, timeout=60, trust_env=False) as web:
                yield Fleet(one, database, web)
        finally:
            await database.close()
            for worker in workers:
                worker.close()


async def measure(small: bool) -> list[Figure]:
    """Members a second, against single actions a second."""
    vms, seconds, times = (1_000, 1, 1) if small else (10_000, 3, 3)
    with postgres() as server, Nats() as nats, SimCloud() as cloud:
        async with fleet(server, nats, cloud, vms) as cell:
            rates, alone = [], []
            for _ in range(times):
                rates.append(vms / await cell.act("suspend", "Suspended"))
                await cell.act("resume", "Running")
                alone.append(await cell.each("suspend", seconds))
                await cell.act("resume", "Running")
    let_in, settled = middle([a for a, _ in alone]), middle([s for _, s in alone])
    detail = {
        "members a second": round(middle(rates)),
        "single actions let in a second": round(let_in),
        "single actions settled a second": round(settled),
    }
    return [
        Figure("fleet", middle(rates) / let_in, "times single actions", "single actions, REST", BAR, detail=detail)
    ]
