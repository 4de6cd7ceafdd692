"""Sites: ten thousand agents connect at once, each with a connection of its own and ten objects at its site.

The storm is over when every site is ready, and the full state of every one of them has been applied. After that the
bus is lost, and all come back: everything is told and applied once more, with nothing else to do. Beside it, as many
messages of the same size that the bare bus carries, and the bare statement that notes what was seen.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from bench.dispatch import bare
from bench.figure import Figure
from bench.ground import ROOT, Stead, postgres
from bench.site_agents import NAMESPACE, site
from stead.bus.codec import encode
from stead.bus.messages import FullState, StateLine
from stead.dev.engines import Nats, Postgres
from stead.lifecycle.snapshot import Fence
from stead.store.statements import statement
from tests.lanes import with_every_lane

OBJECTS = 10
"""At each site: two clusters, and four apps in each."""

APPS = OBJECTS // 2 - 1

PROCESSES = 4
"""That agents are in."""

BATCH = 1000
"""Objects that the bare statement notes at a time."""

FILL = """
WITH site AS (
    INSERT INTO resources (path, kind, state, fence, lane, token)
    SELECT '/' || $2 || '/s' || lpad(i::text, 5, '0'), 'cloudlet', 'Offline', 1,
           'edge.' || $2 || '.s' || lpad(i::text, 5, '0'), gen_random_uuid()
      FROM generate_series(0, $1::int - 1) i
    RETURNING path, lane
), cluster AS (
    INSERT INTO resources (path, kind, state, fence, lane, token, revision, observe_at)
    SELECT path || '/c' || n, 'clusterinst', 'Ready', 1, lane, gen_random_uuid(), 1, now() + interval '1 hour'
      FROM site, generate_series(0, 1) n
    RETURNING path, lane
)
INSERT INTO resources (path, kind, state, fence, lane, token, revision, observe_at)
SELECT path || '/a' || n, 'appinst', 'Ready', 1, lane, gen_random_uuid(), 1, now() + interval '1 hour'
  FROM cluster, generate_series(1, $3::int) n
"""

READY = "SELECT count(*) FROM resources WHERE kind = 'cloudlet' AND state = 'Ready'"
SEEN = "SELECT count(*) FROM resources WHERE kind <> 'cloudlet' AND observed_at > to_timestamp($1)"


@asynccontextmanager
async def agents(nats: Nats, cell: str, sites: int) -> AsyncIterator[None]:
    """Agents of all sites, in some processes."""
    each = -(-sites // PROCESSES)
    processes = []
    try:
        for first in range(0, sites, each):
            words = (nats.url, cell, str(first), str(min(each, sites - first)))
            processes.append(
                await asyncio.create_subprocess_exec(sys.executable, "-m", "bench.site_agents", *words, cwd=ROOT)
            )
        yield
    finally:
        for process in processes:
            process.kill()
            await process.wait()


async def until(database: asyncpg.Connection[asyncpg.Record], query: str, count: int, *values: object) -> None:
    """Until a count is reached."""
    while await database.fetchval(query, *values) < count:
        await asyncio.sleep(0.2)


async def ours(server: Postgres, nats: Nats, sites: int) -> tuple[float, float, float]:
    """Seconds until all sites were ready, until all they have was applied, and until all of it was once more."""
    name = f"sites_{secrets.token_hex(4)}"
    dsn = server.create_database(name)
    await with_every_lane(dsn)
    database = await asyncpg.connect(dsn)
    await database.execute(FILL, sites, NAMESPACE, APPS)
    await database.execute("DELETE FROM providers")
    await database.execute("VACUUM ANALYZE resources")
    objects = sites * OBJECTS
    with Stead("server", "server", "--open", "--database", dsn, "--nats", nats.url, "--cell", name):
        began = time.time()
        async with agents(nats, name, sites):
            await until(database, READY, sites)
            ready = time.time() - began
            await until(database, SEEN, objects, began)
            told = time.time() - began
            await asyncio.to_thread(nats.kill)
            again = time.time()
            await asyncio.to_thread(nats.start)
            await until(database, SEEN, objects, again)
            once_more = time.time() - again
    await database.close()
    return ready, told, once_more


async def noting(server: Postgres, objects: int) -> float:
    """Objects a second that the bare statement notes as seen."""
    dsn = server.create_database(f"noting_{secrets.token_hex(4)}")
    await with_every_lane(dsn)
    connection = await asyncpg.connect(dsn)
    await connection.execute(FILL, objects // OBJECTS, NAMESPACE, APPS)
    await connection.execute("VACUUM ANALYZE resources")
    paths = [r["path"] for r in await connection.fetch("SELECT path FROM resources WHERE kind <> 'cloudlet'")]
    query = statement("mark_unchanged")
    began = time.perf_counter()
    for at in range(0, len(paths), BATCH):
        await connection.fetch(query, paths[at : at + BATCH], 300.0)
    took = time.perf_counter() - began
    await connection.close()
    return len(paths) / took


def message() -> bytes:
    """The full state of a site on its way."""
    paths = [f"/{NAMESPACE}/{site(1)}/c{c}/a{n}" for c in range(2) for n in range(APPS + 1)]
    lines = [StateLine(Fence(1, 1), "Ready", path, revision=1) for path in paths]
    return encode(FullState(f"agent-{site(1)}", 1, f"edge.{NAMESPACE}.{site(1)}", lines, True, time.time()))


async def measure(small: bool) -> list[Figure]:
    """Objects a second that are told and applied, against the bare engines."""
    sites = 300 if small else 10_000
    with postgres() as server, Nats() as nats:
        ready, told, once_more = await ours(server, nats, sites)
        beside = await bare(nats, message(), sites) * OBJECTS
        noted = await noting(server, sites * OBJECTS)
    objects = sites * OBJECTS
    detail = {
        "sites": sites,
        "objects": objects,
        "seconds until all sites were ready": round(ready, 1),
        "seconds until all objects were told and applied": round(told, 1),
        "seconds until all were told and applied again, after the bus was lost": round(once_more, 1),
        "objects a second": round(objects / once_more),
        "objects a second on the bare bus": round(beside),
        "objects a second by the bare statement": round(noted),
    }
    return [
        Figure("sites ready", sites / ready, "sites a second", "10 objects each, told meanwhile", detail=detail),
        Figure(
            "resync by bus", objects / once_more / beside, "of the bare bus", "publish + fetch + ack", detail=detail
        ),
        Figure("resync by statement", objects / once_more / noted, "of the bare statement", "noting", detail=detail),
    ]
