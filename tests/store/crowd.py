"""A database with much in it, and others who work on it while it is changed: how long are they kept waiting?"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

FILL = """
INSERT INTO resources (path, kind, state, lane, token, spec, facts, operation)
SELECT '/ns' || n % 100 || '/m' || n % 1000 || '/g/' || n, (ARRAY['vm', 'machine', 'disk', 'cloudlet'])[1 + n % 4],
       'Running', 'sim.r' || n % 50, gen_random_uuid(), jsonb_build_object('node', 'n' || n % 40, 'size', n),
       jsonb_build_object('id', 'i-' || n), CASE WHEN n % 100 = 0 THEN gen_random_uuid() END
  FROM generate_series(1, $1::bigint) n;
INSERT INTO operations (id, action, kind, path, principal)
SELECT gen_random_uuid(), 'suspend', 'vm', '/ns/m/g/' || n, 'a test' FROM generate_series(1, $1::bigint / 10) n;
INSERT INTO operation_members (operation, path, outcome)
SELECT gen_random_uuid(), '/ns/m/g/' || n, 'succeeded' FROM generate_series(1, $1::bigint) n;
INSERT INTO ended_operations (id, action, kind, path, principal, outcome)
SELECT gen_random_uuid(), 'suspend', 'vm', '/ns/m/g/' || n, 'a test', 'succeeded'
  FROM generate_series(1, $1::bigint) n;
INSERT INTO orders (lane, kind, verb, members)
SELECT 'sim.r' || n % 50, 'vm', 'suspend', ARRAY[n] FROM generate_series(1, $1::bigint / 10) n;
INSERT INTO journal (position, path, kind, operation, actor, trigger, detail, source, target)
SELECT n, '/ns/m/g/' || n, 'vm', gen_random_uuid(), 'agent',
       (ARRAY['succeeded', 'observed', 'request'])[1 + n % 3], 'suspend',
       'Running', 'Suspended' FROM generate_series(1, $1::bigint) n;
"""
"""So many of everything that grows: a statement for each table."""

WORK = (
    "SELECT state, spec FROM resources WHERE path = '/ns1/m1/g/1'",
    "UPDATE resources SET version = version + 1, state = 'Running' WHERE path = '/ns2/m2/g/2'",
    "INSERT INTO journal (path, kind, actor, trigger, detail, source, target) "
    "VALUES ('/a', 'vm', 'a', 'b', 'c', 'd', 'e')",
    "SELECT action FROM operations WHERE id = '00000000-0000-0000-0000-000000000000'",
    "INSERT INTO operation_members (operation, path, outcome) VALUES (gen_random_uuid(), '/a', 'succeeded')",
    "INSERT INTO orders (lane, kind, verb, members) VALUES ('sim.a', 'vm', 'suspend', '{1}')",
    "INSERT INTO ended_operations (id, action, kind, path, principal, outcome) "
    "VALUES (gen_random_uuid(), 'a', 'vm', '/a', 'b', 'succeeded')",
)
"""What everybody does all the time."""

WAITING = """
SELECT extract(epoch FROM clock_timestamp() - query_start)::float8, query
  FROM pg_stat_activity WHERE application_name = 'crowd' AND wait_event_type = 'Lock' AND datname = current_database()
"""
WORKERS = 4


async def fill(dsn: str, count: int) -> None:
    """So many rows in each large table."""
    connection = await asyncpg.connect(dsn)
    try:
        for text in FILL.split(";\n"):
            if text.strip():
                await connection.execute(text.replace("$1::bigint", str(count)))
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


class Crowd:
    """Those who work, and how long they waited."""

    def __init__(self) -> None:
        self.locked = 0.0
        """Seconds that somebody waited for a lock, at most; as far as was seen, which is every few milliseconds."""
        self.behind = ""
        """What they wanted to do."""
        self.longest = 0.0
        """Seconds that anything of it took, for whatever reason."""
        self.done = 0

    async def work(self, connection: asyncpg.Connection[Any], first: int) -> None:
        while True:
            text = WORK[(first + self.done) % len(WORK)]
            began = time.monotonic()
            await connection.execute(text)
            self.longest = max(self.longest, time.monotonic() - began)
            self.done += 1
            await asyncio.sleep(0.002)

    async def watch(self, connection: asyncpg.Connection[Any]) -> None:
        while True:
            for seconds, text in await connection.fetch(WAITING):
                if seconds > self.locked:
                    self.locked, self.behind = seconds, text
            await asyncio.sleep(0.005)


@asynccontextmanager
async def crowd(dsn: str) -> AsyncIterator[Crowd]:
    """Some who work for as long as the context lasts; whatever fails for them fails here."""
    found = Crowd()
    settings = {"application_name": "crowd"}
    workers = [await asyncpg.connect(dsn, server_settings=settings) for _ in range(WORKERS)]
    watcher = await asyncpg.connect(dsn)
    tasks = [asyncio.create_task(found.work(one, number)) for number, one in enumerate(workers)]
    tasks.append(asyncio.create_task(found.watch(watcher)))
    try:
        yield found
        await asyncio.sleep(0.2)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for connection in (*workers, watcher):
            await connection.close()
