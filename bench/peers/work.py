"""The job that every peer does: suspend one VM, and lose nothing on the way.

The request is accepted when the peer has it in its queue. Then the VM goes from Running to Suspending, with a line in
the journal in the same transaction; the provider is called once, for this VM alone; the VM goes on to Suspended with
a second line, and the operation is done. Each of the two changes is one statement, which compares and sets: nothing
does it in fewer round trips. The operation's row comes with the first change: no peer pays for one more. All of it
may be repeated, since a queue may hand out a job again.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import threading
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import httpx

from stead.drivers.base import Member, batches
from stead.drivers.sim.driver import LIMIT, Config, SimDriver

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
"""Seconds for a start, and for a run beside a tenth of a second for each VM."""

LOOK = 0.02
"""Seconds between two looks at how many are done: what the measured time may be too long by."""

CALLERS = 4
"""Each asks for one VM, and for the next when that was accepted. 16 were tried too; the runs were too few to tell
which is better for whom. Two of the peers can also take a batch of requests at once, which was not measured."""

CONNECTIONS = 8
"""To the database, in each worker, for the changes alone. Without any queue, of 4, 8, 16, 32 and 100 jobs at once 8
were the fastest in two series of three, and 32 slower by a third or more."""

PROVIDER = "bench"

TABLES = """
CREATE TABLE vm (path text PRIMARY KEY, state text NOT NULL, version bigint NOT NULL);
CREATE TABLE operation (id text PRIMARY KEY, path text NOT NULL, action text NOT NULL, outcome text NOT NULL);
CREATE TABLE journal (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    path text NOT NULL,
    operation text NOT NULL,
    source text NOT NULL,
    target text NOT NULL
);
"""

# Each says in how many rows it made the change, one or none. The placeholders are the library's own.
BEGIN = """
WITH moved AS (
    UPDATE vm SET state = 'Suspending', version = version + 1
    WHERE path = {path} AND state = 'Running' RETURNING path
), opened AS (
    INSERT INTO operation (id, path, action, outcome) SELECT CAST({operation} AS text), path, 'suspend', '' FROM moved
)
INSERT INTO journal (path, operation, source, target)
SELECT path, CAST({operation} AS text), 'Running', 'Suspending' FROM moved
"""
FINISH = """
WITH closed AS (
    UPDATE operation SET outcome = 'done' WHERE id = {operation} AND outcome = '' RETURNING path
), moved AS (
    UPDATE vm SET state = 'Suspended', version = version + 1
    WHERE path = {path} AND state = 'Suspending' AND path = (SELECT path FROM closed) RETURNING path
)
INSERT INTO journal (path, operation, source, target)
SELECT path, CAST({operation} AS text), 'Suspending', 'Suspended' FROM moved
"""
KNOWN = "SELECT count(*) FROM operation WHERE id = {operation} AND path = {path}"
"""ActionRequest where no row was changed: an operation that is known has made its change before."""

DONE = "SELECT count(*) FROM operation WHERE outcome = 'done'"

_ASYNCPG = {"path": "$1", "operation": "$2"}
_BEGIN, _FINISH, _KNOWN = (text.format(**_ASYNCPG) for text in (BEGIN, FINISH, KNOWN))


class Refused(Exception):
    """The VM is not in the state that the action starts from."""


class Request(NamedTuple):
    """One VM to be suspended."""

    path: str
    operation: str


Enqueue = Callable[[Request], Awaitable[None]]


async def begin(pool: asyncpg.Pool, request: Request) -> None:
    """Running to Suspending."""
    await _change(pool, _BEGIN, request)


async def finish(pool: asyncpg.Pool, request: Request) -> None:
    """Suspending to Suspended, and the operation is done."""
    await _change(pool, _FINISH, request)


async def _change(pool: asyncpg.Pool, statement: str, request: Request) -> None:
    changed = await pool.execute(statement, *request)
    if changed != "INSERT 0 1" and not await pool.fetchval(_KNOWN, *request):
        raise Refused(request.path)


def driver(cloud_url: str, region: str) -> SimDriver:
    """The way to the provider: the very one that the agents have."""
    return SimDriver(Config(url=cloud_url, provider=PROVIDER, region=region))


async def call(provider: SimDriver, request: Request) -> None:
    """One call for one VM."""
    member = Member(path=request.path, token=request.path)
    [result] = await provider.perform("suspend", [member], request.operation)
    if not result.ok or result.pending:
        raise RuntimeError(f"{request.path} is not suspended: {result.error or 'pending'}")


async def suspend(pool: asyncpg.Pool, provider: SimDriver, request: Request) -> None:
    """The whole job."""
    await begin(pool, request)
    await call(provider, request)
    await finish(pool, request)


class Stage:
    """An empty database with the VMs in it, the same VMs at the provider, and the clock."""

    def __init__(self, dsn: str, cloud_url: str, paths: Sequence[str]) -> None:
        self.dsn = dsn
        self.cloud_url = cloud_url
        self.region = f"region-{secrets.token_hex(4)}"
        self.requests = [Request(path, secrets.token_hex(16)) for path in paths]
        self.crew: list[Process] = []

    async def prepare(self) -> None:
        """Make the tables and the VMs."""
        connection = await asyncpg.connect(self.dsn)
        try:
            await connection.execute(TABLES)
            rows = [(request.path, "Running", 1) for request in self.requests]
            await connection.copy_records_to_table("vm", records=rows, columns=["path", "state", "version"])
            await connection.execute("ANALYZE vm")
        finally:
            await connection.close()
        provider = driver(self.cloud_url, self.region)
        try:
            members = [Member(path=path, token=path, spec={"cpu": 2}) for path, _ in self.requests]
            for batch in batches(members, LIMIT):
                results = await provider.perform("create", batch, secrets.token_hex(16))
                assert all(result.ok and not result.pending for result in results), results
        finally:
            await provider.close()

    @asynccontextmanager
    async def workers(self, module: str, count: int, *settings: object) -> AsyncIterator[None]:
        """So many processes that do the jobs; each is ready when this begins and gone when it ends."""
        where = [self.dsn, self.cloud_url, self.region, *map(str, settings)]
        async with AsyncExitStack() as stack:
            for number in range(count):
                worker = _worker(module, ["worker", str(number), *where])
                self.crew.append(await stack.enter_async_context(worker))
            yield

    async def rate(self, enqueue: Enqueue) -> float:
        """VMs suspended per second, from the first request until the last operation is done."""
        connection = await asyncpg.connect(self.dsn)
        try:
            async with asyncio.timeout(PATIENCE + len(self.requests) / 10), asyncio.TaskGroup() as callers:
                start = time.perf_counter()
                waiting = iter(self.requests)
                for _ in range(CALLERS):
                    callers.create_task(_ask(enqueue, waiting))
                while await connection.fetchval(DONE) < len(self.requests):
                    assert all(worker.returncode is None for worker in self.crew), "a worker has ended"
                    await asyncio.sleep(LOOK)
                took = time.perf_counter() - start
            await self._check(connection)
        finally:
            await connection.close()
        return len(self.requests) / took

    async def _check(self, connection: asyncpg.Connection) -> None:
        """That all was done, and done at the provider too."""
        count = len(self.requests)
        suspended = await connection.fetchval("SELECT count(*) FROM vm WHERE state = 'Suspended' AND version = 3")
        lines = await connection.fetch("SELECT path, count(*) FROM journal GROUP BY path")
        ledger = await _ledger(self.cloud_url)
        stopped = _sum(ledger["places"], "count", region=self.region, state="stopped")
        asked = _sum(ledger["calls_by_outcome"], "members", region=self.region, verb="suspend", outcome="done")
        assert suspended == count, f"{suspended} of {count} are Suspended"
        assert [row["count"] for row in lines] == [2] * count, "not two lines for each"
        assert stopped == count <= asked, f"{stopped} of {count} stopped at the provider in {asked} calls"


async def _ask(enqueue: Enqueue, waiting: Iterator[Request]) -> None:
    for request in waiting:
        await enqueue(request)


async def _ledger(cloud_url: str) -> dict[str, Any]:
    async with httpx.AsyncClient(base_url=cloud_url, trust_env=False, verify=False, timeout=30) as client:
        ledger: dict[str, Any] = (await client.get("/v1/_ledger")).raise_for_status().json()
        return ledger


def _sum(lines: list[dict[str, Any]], what: str, **where: str) -> int:
    return sum(line[what] for line in lines if line["provider"] == PROVIDER and where.items() <= line.items())


@asynccontextmanager
async def _worker(module: str, arguments: Sequence[str]) -> AsyncIterator[Process]:
    # It reads its input, which nobody writes to, in order to end with this process.
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        module,
        *arguments,
        cwd=ROOT,
        stdin=PIPE,
        stdout=PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE):
            if await process.stdout.readline() != b"ready\n":
                raise RuntimeError(f"{module} did not start")
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        try:
            async with asyncio.timeout(10):
                await process.wait()
        except TimeoutError:
            process.kill()
            await process.wait()


def ready() -> None:
    """Said by a worker that is about to take jobs. It ends when the process that started it is gone."""
    threading.Thread(target=lambda: (os.read(0, 1), os._exit(1)), daemon=True).start()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
