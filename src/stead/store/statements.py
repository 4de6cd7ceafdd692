"""Named statements, and the pool of connections that they run on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any, Self, cast

import asyncpg

from stead.origin import parts
from stead.store.connections import Connections

_SQL = files("stead.store") / "sql"


def statement(name: str) -> str:
    """The text of a named statement."""
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")


class Statements:
    """Runs statements by their names."""

    def __init__(self, pool: Connections) -> None:
        self._pool = pool
        self._statements: dict[str, str] = {}

    def _text(self, name: str) -> str:
        if name not in self._statements:
            self._statements[name] = statement(name)
        return self._statements[name]

    async def fetch(self, name: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a named statement."""
        return await self._pool.fetch(self._text(name), *values)

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Self]:
        """The same statements, all of which read the database as it is at one moment; one at a time, none writes."""
        async with (
            self._pool.acquire() as connection,
            connection.transaction(isolation="repeatable_read", readonly=True),
        ):
            yield self._on(cast("Connections", connection))

    def _on(self, pool: Connections) -> Self:
        """The same statements, on another pool or on one connection."""
        return type(self)(pool)

    async def audited(self, name: str, *values: Any) -> list[asyncpg.Record]:
        """The rows of a statement that tells the journal of what it does, which is told where that was asked for."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._text("set_origin"), *parts())
            return await connection.fetch(self._text(name), *values)
