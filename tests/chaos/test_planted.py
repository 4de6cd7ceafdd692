"""The bugs that a chaos run has to catch are there: those in functions of the database are, once it is migrated."""

from __future__ import annotations

import asyncio
import subprocess

import asyncpg
import pytest

from tests.chaos.cell import with_bug
from tests.chaos.planted import BUGS, OF_DATABASE
from tests.lanes import with_every_lane

FUNCTIONS = """SELECT proname || pg_get_function_identity_arguments(oid) AS name, prosrc FROM pg_proc
     WHERE pronamespace = 'public'::regnamespace"""


@pytest.mark.parametrize("bug", OF_DATABASE)
def test_a_migrated_database_has_the_bug(bug: str, migrated: str, database: str) -> None:
    subprocess.run([*with_bug(bug), "migrate", database], check=True)
    asyncio.run(with_every_lane(database))
    right, wrong = asyncio.run(functions(migrated)), asyncio.run(functions(database))
    assert right.keys() == wrong.keys()
    assert right != wrong


def test_a_bug_that_changes_no_function_is_none_of_the_database() -> None:
    assert set(OF_DATABASE) < set(BUGS)


async def functions(dsn: str) -> dict[str, str]:
    connection = await asyncpg.connect(dsn)
    try:
        return {row["name"]: row["prosrc"] for row in await connection.fetch(FUNCTIONS)}
    finally:
        await connection.close()
