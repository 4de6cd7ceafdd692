"""Raises the incarnation of a cell whose database went back in time by other means than `stead backup restore`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import asyncpg

from stead.backup.archive import Manifest
from stead.store.recovery import CUSTODY
from stead.store.statements import statement


class IncarnationNotRaised(Exception):
    """It stays as it is; the message says why."""


async def raise_incarnation(
    dsn: str, manifest: Manifest | None = None, *, running: bool = False, hold: bool = True
) -> tuple[int, int]:
    """Void whatever was said under any fence until now; the incarnation before and after.

    A dump of ours that was brought back by hand has no row of the cell: it is in its manifest. With `hold`, the cell
    orders nothing but probes until an operator releases it; what was in progress is probed first in any case. While
    others are connected that is left: after a failover, what agents report since counts.
    """
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction():
            if await connection.fetchval("SELECT to_regclass('cell')") is None:
                raise IncarnationNotRaised("there is no cell in this database")
            # Nobody starts meanwhile: whoever does waits for this row, or finds none.
            await connection.execute("LOCK TABLE cell IN ACCESS EXCLUSIVE MODE")
            others = await sessions(connection)
            if others and not running:
                raise IncarnationNotRaised(
                    f"{connected(others)}: stop controllers and servers first, or say --running"
                )
            before = await connection.fetchval("SELECT incarnation FROM cell")
            if before is None and manifest is None:
                raise IncarnationNotRaised(
                    "it was restored by hand from a backup of ours: name its file with --backup"
                )
            if before is None and manifest is not None:
                row = json.dumps(manifest.cell)
                await connection.execute("INSERT INTO cell SELECT * FROM jsonb_populate_record(NULL::cell, $1)", row)
                before = manifest.incarnation
            after = await connection.fetchval(statement("raise_incarnation"))
            if not running:
                await connection.execute("SELECT recover_cell($1, $2)", CUSTODY, hold)
            return before, after
    finally:
        await connection.close()


async def sessions(connection: asyncpg.Connection[asyncpg.Record], database: str = "") -> list[asyncpg.Record]:
    """Who else is connected to this database, or to another on the same server."""
    name = database or await connection.fetchval("SELECT current_database()")
    return list(await connection.fetch(statement("list_sessions"), name))


def connected(others: Sequence[asyncpg.Record]) -> str:
    """The first of them, and how many there are."""
    first = others[0]
    who = f"{first['role']} at {first['host'] or 'this machine'}, process {first['pid']}"
    more = f" and {len(others) - 1} more" if len(others) > 1 else ""
    return f"{who}{more} {'are' if more else 'is'} connected to it"
