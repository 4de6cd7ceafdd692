"""Procrastinate: one asynchronous task per VM, run by a worker with many sub-workers, with a lock for each VM."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from typing import Any

import asyncpg
from procrastinate import App, JobContext, PsycopgConnector

from bench.peers import work

MODULE = "bench.peers.on_procrastinate"
QUEUE = "vm"
TASK = "suspend"

# Tried: one worker with 5, 10, 20 and 30 at once (30 is the example of its documentation), and two with 5 and 10, on
# a busy machine where the same setting differed by a factor of two from run to run. No setting stood out: in two
# series in turns, two workers with 10 had a slightly better median. One was kept since it used less processor time
# for each VM, 4.0 to 5.0 ms against 5.0 to 6.1, and had the best run while the machine was quiet. Look again on a
# quiet one.
WORKERS = 1
CONCURRENCY = 10


def application(dsn: str, connections: int) -> App:
    """The same for those who defer and for those who work."""
    app = App(connector=PsycopgConnector(conninfo=dsn, min_size=connections, max_size=connections))

    @app.task(queue=QUEUE, name=TASK, pass_context=True)
    async def suspend(context: JobContext, path: str, operation: str) -> None:
        resources: dict[str, Any] = context.additional_context
        await work.suspend(resources["pool"], resources["provider"], work.Request(path, operation))

    return app


async def measure(dsn: str, cloud_url: str, paths: Sequence[str]) -> float:
    """VMs suspended per second."""
    stage = work.Stage(dsn, cloud_url, paths)
    await stage.prepare()
    app = application(dsn, work.CALLERS)

    async def enqueue(request: work.Request) -> None:
        await app.configure_task(TASK, lock=request.path).defer_async(**request._asdict())

    async with app.open_async():
        await app.schema_manager.apply_schema_async()
        async with stage.workers(MODULE, WORKERS, CONCURRENCY):
            return await stage.rate(enqueue)


async def serve(name: str, dsn: str, cloud_url: str, region: str, concurrency: int) -> None:
    """Do jobs until told to stop."""
    app = application(dsn, concurrency + 1)  # as advised where jobs are short: one for each, and one more
    pool = await asyncpg.create_pool(dsn, min_size=work.CONNECTIONS, max_size=work.CONNECTIONS)
    resources = {"pool": pool, "provider": work.driver(cloud_url, region)}
    async with app.open_async():
        work.ready()
        await app.run_worker_async(name=name, queues=[QUEUE], concurrency=concurrency, additional_context=resources)


if __name__ == "__main__":
    from bench.peers.on_procrastinate import serve as work_on  # it warns of tasks that live in the main module

    name, dsn, cloud_url, region, concurrency = sys.argv[2:]
    asyncio.run(work_on(f"worker-{name}", dsn, cloud_url, region, int(concurrency)))
