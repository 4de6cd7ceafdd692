"""Most tests make namespaces and lanes as they like: their databases allow every lane to every namespace.

What is said of lanes themselves is tested on databases without that.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

import asyncpg

from stead.access.direct import allow_lane
from stead.store.migrate import migrate


async def with_every_lane(dsn: str) -> None:
    """Bring a database up to date, and allow every lane to every namespace."""
    await migrate(dsn)
    await allow_lane(dsn, "*", "*", "a test")
    connection = await asyncpg.connect(dsn)
    await connection.execute("DELETE FROM journal WHERE kind = 'lane'")  # a test's journal begins with what it does
    await connection.close()


def every_lane(dsn: str) -> None:
    """The same, for callers without a loop, or with one that runs."""
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, with_every_lane(dsn)).result()
