"""Named statements, and what runs them on a pool of connections or on one connection."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from typing import Any, cast

import asyncpg

from stead.origin import address_and_request
from stead.store.connections import Connections

_SQL = files("stead.store") / "sql"


@cache
def statement(name: str) -> str:
    """The text of a named statement."""
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")


class Statements:
    """Runs statements by their names."""

    def __init__(self, pool: Connections) -> None:
        self._pool = pool

    async def fetch(self, name: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a named statement."""
        return await self._pool.fetch(statement(name), *values)

    async def value(self, name: str, *values: Any) -> Any:
        """The first column of the first row of a named statement; None where there is no row."""
        return await self._pool.fetchval(statement(name), *values)

    async def record(self, name: str, *values: Any) -> dict[str, Any] | None:
        """The first row of a named statement; None where there is no row."""
        rows = await self.fetch(name, *values)
        return dict(rows[0]) if rows else None

    async def execute(self, name: str, *values: Any) -> None:
        """Run a named statement that has no rows."""
        await self._pool.execute(statement(name), *values)

    async def fetch_audited(self, name: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a statement that writes to the journal: its lines get the origin of the current request."""
        async with self.transaction() as sql:
            await sql.execute("set_origin", *address_and_request())
            return await sql.fetch(name, *values)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Statements]:
        """The same statements in one transaction, one at a time."""
        async with self._pool.acquire() as connection, connection.transaction():
            yield Statements(cast("Connections", connection))

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Connections]:
        """One connection on which every statement reads the database as it is at one moment, and none writes."""
        async with (
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield cast("Connections", connection)


class StorePart:
    """A part of the store: methods of one subject, on the statements that all parts share."""

    def __init__(self, statements: Statements) -> None:
        self._sql = statements
