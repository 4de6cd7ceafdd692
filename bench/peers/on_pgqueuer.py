"""PgQueuer: one entrypoint, a worker that takes jobs in batches, on asyncpg and uvloop as in its own benchmark."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Sequence

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver, AsyncpgPoolDriver
from pgqueuer.models import Job
from pgqueuer.queries import Reader

from bench.peers import work

MODULE = "bench.peers.on_pgqueuer"
ENTRYPOINT = "suspend"

# Tried, on a busy machine: batches of 10 (its default), 20 and 50; 20, 100 and any number of jobs taken at once; 8
# and 16 of those done at a time. Of what ran three times in turns, five managers in one worker, which its benchmark
# has, were clearly slower (175 against 246 to 283); the rest is too close to tell apart. Two workers ran once, and
# slower. A manager that has all it may take looks again only after 0.1 s: so it takes many, and few are done at a
# time.
BATCH = 50
TAKEN = 100
JOBS = 8


async def measure(dsn: str, cloud_url: str, paths: Sequence[str]) -> float:
    """VMs suspended per second."""
    stage = work.Stage(dsn, cloud_url, paths)
    await stage.prepare()
    async with asyncpg.create_pool(dsn, min_size=work.CALLERS, max_size=work.CALLERS) as pool:
        queries = Reader(AsyncpgPoolDriver(pool))
        await queries.install()
        await queries.optimize_autovacuum()

        async def enqueue(request: work.Request) -> None:
            await queries.enqueue(ENTRYPOINT, "\n".join(request).encode(), dedupe_key=request.path)

        async with stage.workers(MODULE, 1, BATCH, TAKEN, JOBS):
            return await stage.rate(enqueue)


async def serve(dsn: str, cloud_url: str, region: str, batch: int, taken: int, jobs: int) -> None:
    """Do jobs until told to stop."""
    pool = await asyncpg.create_pool(dsn, min_size=work.CONNECTIONS, max_size=work.CONNECTIONS)
    provider = work.driver(cloud_url, region)
    manager = PgQueuer(AsyncpgDriver(await asyncpg.connect(dsn)))
    free = asyncio.Semaphore(jobs)

    @manager.entrypoint(ENTRYPOINT)
    async def suspend(job: Job) -> None:
        assert job.payload is not None
        async with free:
            await work.suspend(pool, provider, work.Request(*job.payload.decode().split("\n")))

    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, manager.shutdown.set)
    work.ready()
    await manager.run(batch_size=batch, max_concurrent_tasks=taken)


if __name__ == "__main__":
    dsn, cloud_url, region, *settings = sys.argv[3:]
    uvloop.run(serve(dsn, cloud_url, region, *map(int, settings)))
