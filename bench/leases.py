"""Leases: what it costs to find and book hosts where very many were and will be booked, beside few.

Both have as many hosts, half of them taken at any moment; they differ in how far the calendar goes back and forth.
The same bookings are made on both in turns, each in a transaction that is taken back.
"""

from __future__ import annotations

import secrets
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from random import Random

import asyncpg

from bench.figure import Figure
from bench.ground import postgres
from stead.dev.engines import Postgres
from stead.store.store import speak_json
from tests.lanes import with_every_lane

HOSTS = 500
FEW = 10_000
HOUR = 3600.0
LONG = 1200.0
"""Seconds that are booked; hosts are free for an hour, and then taken for one."""
WANTED = 4
"""Hosts in one booking."""
TOO_MANY = 200
"""Hosts that are never free at once."""

FILL = """
SET session_replication_role = replica;
INSERT INTO hosts (name, lane, properties)
SELECT 'h' || lpad(i::text, 4, '0'), 'rack.a', jsonb_build_object('cpus', 8 << (i % 3))
  FROM generate_series(1, {hosts}) i;
INSERT INTO resources (path, kind, state, fence, lane, token, spec)
SELECT '/old/l' || n || '-' || h.id || '/r0', 'reservation',
       CASE WHEN n < {each} / 2 THEN 'deleted' ELSE 'pending' END, 1, 'rack.a',
       gen_random_uuid(), jsonb_build_object('name', 'r0', 'count', 1, 'hosts', jsonb_build_array(h.name))
  FROM hosts h, generate_series(0, {each} - 1) n;
INSERT INTO allocations (host, reservation, during)
SELECT h.id, '/old/l' || n || '-' || h.id || '/r0', tstzrange(t, t + interval '1 hour')
  FROM hosts h, generate_series(0, {each} - 1) n,
       LATERAL (SELECT to_timestamp({middle})
                       + make_interval(mins => (n - {each} / 2) * 120 + (h.id * 37 % 120)::int)) s (t);
INSERT INTO resources (path, kind, state, fence, token)
SELECT '/new/l', 'lease', 'CREATING', 1, gen_random_uuid();
SET session_replication_role = DEFAULT;
VACUUM ANALYZE
"""


@asynccontextmanager
async def filled(
    server: Postgres, allocations: int, middle: float
) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    """A database with so many reservations around a time."""
    dsn = server.create_database(f"leases_{secrets.token_hex(4)}")
    await with_every_lane(dsn)
    connection = await asyncpg.connect(dsn)
    try:
        for text in FILL.format(hosts=HOSTS, each=allocations // HOSTS, middle=middle).split(";"):
            await connection.execute(text, timeout=1800)
        await speak_json(connection)
        yield connection
    finally:
        await connection.close()


async def book(connection: asyncpg.Connection[asyncpg.Record], start: float, count: int) -> float:
    """Seconds that a booking takes, whether there is room or not."""
    wanted = {"name": "r0", "count": count, "wants": "$.cpus >= 16"}
    terms = {"start": start, "end": start + LONG, "warn": None, "reservations": [wanted]}
    transaction = connection.transaction()
    await transaction.start()
    began = time.perf_counter()
    try:
        await connection.fetchval("SELECT book_lease('/new/l', 1, $1, $2)", terms, start)
    except asyncpg.PostgresError as error:
        if error.sqlstate != "ST002":
            raise
    finally:
        took = time.perf_counter() - began
        await transaction.rollback()
    return took


async def measure(small: bool) -> list[Figure]:
    """Bookings where there is room, and where there is none and the next time is looked for."""
    many, tries = (100_000, 50) if small else (1_000_000, 1000)
    random = Random(7)
    middle = float(int(time.time()) // 7200 * 7200)
    async with AsyncExitStack() as stack:
        server = stack.enter_context(postgres())
        few = await stack.enter_async_context(filled(server, FEW, middle))
        lots = await stack.enter_async_context(filled(server, many, middle))
        took: dict[tuple[str, int], list[float]] = {}
        reach = FEW / HOSTS * HOUR * 0.9  # where both have something
        for number in range(tries):
            start = middle + random.uniform(-reach, reach)
            for count in (WANTED, TOO_MANY) if number % 20 == 0 else (WANTED,):
                turn = (("few", few), ("many", lots))
                for name, connection in turn if number % 2 else turn[::-1]:
                    took.setdefault((name, count), []).append(await book(connection, start, count))
    median = {key: statistics.median(times) for key, times in took.items()}
    found = median["many", WANTED] / median["few", WANTED]
    refused = median["many", TOO_MANY] / median["few", TOO_MANY]
    return [
        Figure(
            "leases",
            found,
            f"times the cost with {FEW:,}",
            f"bookings of {WANTED} hosts with {FEW:,} reservations",
            bar=2.0,
            at_most=True,
            detail={
                "reservations": many,
                "ms for a booking, with few": round(median["few", WANTED] * 1000, 2),
                "ms for a booking, with many": round(median["many", WANTED] * 1000, 2),
                "ms to say when the next time is, with few": round(median["few", TOO_MANY] * 1000, 2),
                "ms to say when the next time is, with many": round(median["many", TOO_MANY] * 1000, 2),
                "times as long to say that": round(refused, 2),
            },
        )
    ]
