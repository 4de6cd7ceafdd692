"""Brings a database up to date. Where it is already, nothing is loaded that would be needed to change it."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.resources import files
from typing import cast

import asyncpg

HEAD = "head"
"""The newest revision there is."""


async def migrate(dsn: str, revision: str = HEAD) -> None:
    """Bring a database to a revision."""
    if revision != HEAD or await _version(dsn) != _newest():
        await import_module("stead.store.migrating").upgrade(dsn, revision)


def migrate_now(dsn: str, revision: str = HEAD) -> None:
    """The same, for callers without a loop."""
    asyncio.run(migrate(dsn, revision))


async def _version(dsn: str) -> str | None:
    """The revision that a database has; None where it has none yet."""
    connection = await asyncpg.connect(dsn)
    try:
        if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
            return None
        return cast(str | None, await connection.fetchval("SELECT version_num FROM alembic_version"))
    finally:
        await connection.close()


def _newest() -> str:
    """The name of the last migration, which its number begins."""
    names = [file.name for file in (files("stead.store") / "migrations" / "versions").iterdir()]
    return max(name[:4] for name in names if name.endswith(".py"))
