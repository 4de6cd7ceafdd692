"""Brings a database up to date. Where it is already, nothing is loaded that would be needed to change it.

A database may be newer than the program, while one controller after another is replaced: what a release adds disturbs
none of the release before, so the older one goes on.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, cast

import asyncpg

log = logging.getLogger(__name__)

HEAD = "head"
"""The newest revision there is."""

VERSIONS: Sequence[Traversable] = [files("stead.store") / "migrations" / "versions"]
"""Folders with migrations, in order: tests add one with those of a release to come."""


class MigrationFailed(Exception):
    """The schema of a database could not be brought up to date; the message says why, and what to do."""


async def migrate(dsn: str, revision: str = HEAD) -> None:
    """Bring a database to a revision."""
    if revision == HEAD:
        now, last = await _version_at(dsn), newest()
        if now is not None and now > last:
            log.warning("the database is at %s, newer than this program, which knows %s: it goes on", now, last)
            return
        if now == last:
            return
        log.info("the database is at %s, and is brought to %s", now or "nothing", last)
    await import_module("stead.store.migration_runner").upgrade(dsn, revision)


async def _version_at(dsn: str) -> str | None:
    connection = await asyncpg.connect(dsn)
    try:
        return await version(connection)
    finally:
        await connection.close()


async def version(connection: asyncpg.Connection[Any]) -> str | None:
    """The revision that a database has; None where it has none yet."""
    if await connection.fetchval("SELECT to_regclass('alembic_version')") is None:
        return None
    return cast(str | None, await connection.fetchval("SELECT version_num FROM alembic_version"))


def known() -> frozenset[str]:
    """The revisions that there are: the numbers that the names of migrations begin with."""
    return frozenset(file.name[:4] for file in migration_files(".py"))


def version_folders() -> Sequence[Traversable]:
    """Folders with migrations, in order."""
    return VERSIONS


def migration_files(ending: str) -> list[Traversable]:
    """Files of migrations whose names end so, in order of their revisions."""
    found = [file for folder in version_folders() for file in folder.iterdir() if file.name.endswith(ending)]
    return sorted(found, key=lambda file: file.name)


def newest() -> str:
    """The last of them."""
    return max(known())
