"""What a migration needs that takes long, made ahead of it and beside whoever works: indexes of large tables.

A migration may have a file `NNNN_name_ahead.sql`. Each of its statements is run by itself, and may be run again. It
speaks of what the release before has; where a database is older than that, there is nothing to be made ahead, and the
migration, which makes whatever is still missing, locks the table for as long as that takes.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from typing import Any

import asyncpg

from stead.store.migrate import migration_files

log = logging.getLogger(__name__)

_AHEAD = "_ahead.sql"
_INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX CONCURRENTLY IF NOT EXISTS (\w+)\s+ON (\w+)", re.IGNORECASE)

PARTITIONS = """
SELECT i.inhrelid::regclass::text FROM pg_inherits i
  JOIN pg_class c ON c.oid = i.inhparent AND c.relkind = 'p' WHERE c.oid = to_regclass($1) ORDER BY 1
"""
BROKEN = "SELECT NOT indisvalid FROM pg_index WHERE indexrelid = to_regclass($1)"
"""Whether an index is there of which the building was broken off."""


async def make_ahead(connection: asyncpg.Connection[Any], now: str | None, last: str) -> None:
    """Whatever migrations after a revision want made ahead; for a new database, nothing."""
    if now is None:
        return
    for file in ahead_of(now, last):
        try:
            for text in statements(file.read_text(encoding="utf-8")):
                await _make(connection, text)
        except (asyncpg.UndefinedTableError, asyncpg.UndefinedColumnError, asyncpg.UndefinedFunctionError) as error:
            log.info("%s is not made ahead, since the database is older than that: %s", file.name, error)


def ahead_of(now: str, last: str) -> list[Traversable]:
    """The files of the migrations between two revisions, in order."""
    return [file for file in migration_files(_AHEAD) if now < file.name[:4] <= last]


def statements(text: str) -> Iterator[str]:
    """Each statement of a file: it ends with a semicolon at the end of a line, outside of a function's body."""
    bare = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("--"))
    found: list[str] = []
    for line in bare.splitlines():
        found.append(line)
        so_far = "\n".join(found)
        if line.rstrip().endswith(";") and so_far.count("$$") % 2 == 0:
            yield so_far.strip()
            found = []
    if "".join(found).strip():
        raise ValueError("the last statement has no end")


async def _make(connection: asyncpg.Connection[Any], text: str) -> None:
    index = _INDEX.match(text)
    if index is None:
        await connection.execute(text)
        return
    name, table = index.groups()
    parts = [row[0] for row in await connection.fetch(PARTITIONS, table)]
    if not parts:
        await _build(connection, name, text)
    # An index of a table in parts cannot be built beside others; those of its parts can, and the whole takes them.
    for part in parts:
        own = f"{part}_{name.removeprefix(table).lstrip('_')}"
        head = index[0].replace(f" {name}", f" {own}", 1)
        head = head[: -len(table)] + part
        await _build(connection, own, head + text[index.end() :])


async def _build(connection: asyncpg.Connection[Any], name: str, text: str) -> None:
    if await connection.fetchval(BROKEN, name):
        await connection.execute(f"DROP INDEX CONCURRENTLY {name}")
    log.info("the index %s is built ahead", name)
    await connection.execute(text)
