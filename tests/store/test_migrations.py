"""Migrations: repeatable, and the functions in the database are those in the files."""

from __future__ import annotations

import asyncpg

from stead.store.migrate import migrate
from stead.store.statements import statement

SHAPE = """
SELECT table_name || '.' || column_name || ' ' || data_type || ' ' || is_nullable
  FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 1
"""


async def test_migrating_again_changes_nothing(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        before = await connection.fetch(SHAPE)
        await migrate(migrated)
        assert await connection.fetch(SHAPE) == before
        assert len(before) > 50
    finally:
        await connection.close()


async def test_the_functions_are_those_of_the_file(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        bodies = [
            r["prosrc"] for r in await connection.fetch("SELECT prosrc FROM pg_proc WHERE proname = 'commit_changes'")
        ]
        assert len(bodies) == 1
        assert bodies[0] in statement("functions/commit")
    finally:
        await connection.close()


async def test_there_is_one_cell(migrated: str) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        assert await connection.fetchval("SELECT count(*) FROM cell") == 1
        try:
            await connection.execute("INSERT INTO cell DEFAULT VALUES")
        except asyncpg.UniqueViolationError:
            return
        raise AssertionError("a second cell was let in")
    finally:
        await connection.close()
