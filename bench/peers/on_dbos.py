"""DBOS: one workflow per VM with a step for each of its three parts, on a queue, done by queue workers."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Coroutine, Sequence

import asyncpg
from dbos import DBOS, DBOSClient, EnqueueOptions

from bench.peers import work

MODULE = "bench.peers.on_dbos"
APPLICATION = "bench"
QUEUE = "vm"
WORKFLOW = "suspend"

# Tried, on a busy machine. Clear: two workers beat one (60 and 64 against 45 and 45), and plain steps beat
# transactions of a datasource (36 to 45 against 15 to 24, asynchronous, one worker). Its documentation recommends
# datasources for changes in a database; they record each change with it, which these statements need not, as they may
# be repeated. Too close to tell apart: 10, 30 and 50 workflows at once, and a partition or a deduplication for each
# VM. Slower, in a run or a few: asynchronous workflows, 100 at once, and 500 with a look at the queue every second
# (the default).
WORKERS = 2
CONCURRENCY = 30
POLLING = 0.1


async def measure(dsn: str, cloud_url: str, paths: Sequence[str]) -> float:
    """VMs suspended per second."""
    stage = work.Stage(dsn, cloud_url, paths)
    await stage.prepare()
    async with stage.workers(MODULE, WORKERS, CONCURRENCY, POLLING):
        client = DBOSClient(
            system_database_url=dsn, system_database_pool_size=work.CALLERS, application_name=APPLICATION
        )

        async def enqueue(request: work.Request) -> None:
            options: EnqueueOptions = {
                "queue_name": QUEUE,
                "workflow_name": WORKFLOW,
                "workflow_id": request.operation,
                "queue_partition_key": request.path,
            }
            await client.enqueue_async(options, *request)

        try:
            return await stage.rate(enqueue)
        finally:
            client.destroy()


async def serve(name: str, dsn: str, cloud_url: str, region: str, concurrency: int, polling: float) -> None:
    """Do jobs until told to stop."""
    DBOS(
        config={
            "name": APPLICATION,
            "application_version": "1",
            "executor_id": name,
            "system_database_url": dsn,
            "log_level": "WARNING",
        }
    )
    pool = await asyncpg.create_pool(dsn, min_size=work.CONNECTIONS, max_size=work.CONNECTIONS)
    provider = work.driver(cloud_url, region)
    loop = asyncio.get_running_loop()

    def wait(part: Coroutine[None, None, None]) -> None:
        asyncio.run_coroutine_threadsafe(part, loop).result()

    @DBOS.step()
    def begin(path: str, operation: str) -> None:
        wait(work.begin(pool, work.Request(path, operation)))

    @DBOS.step()
    def call(path: str, operation: str) -> None:
        wait(work.call(provider, work.Request(path, operation)))

    @DBOS.step()
    def finish(path: str, operation: str) -> None:
        wait(work.finish(pool, work.Request(path, operation)))

    @DBOS.workflow(name=WORKFLOW)
    def suspend(path: str, operation: str) -> None:
        begin(path, operation)
        call(path, operation)
        finish(path, operation)

    DBOS.launch()
    await DBOS.register_queue_async(
        QUEUE, worker_concurrency=concurrency, partition_concurrency=1, polling_interval_sec=polling
    )
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    work.ready()
    await stop.wait()
    await asyncio.to_thread(DBOS.destroy, workflow_completion_timeout_sec=5)


if __name__ == "__main__":
    name, dsn, cloud_url, region, concurrency, polling = sys.argv[2:]
    asyncio.run(serve(f"worker-{name}", dsn, cloud_url, region, int(concurrency), float(polling)))
