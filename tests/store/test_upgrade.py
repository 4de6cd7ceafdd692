"""A database is brought up to date while others work on it: they hardly notice, and nobody is left behind."""

from __future__ import annotations

import asyncio
import logging
import os

import asyncpg
import pytest

from stead.store import migration_runner
from stead.store.concurrent_indexes import ahead_of, make_ahead, statements
from stead.store.migrate import migrate, newest
from stead.store.migration_runner import MigrationBlocked, upgrade
from tests.databases import Databases
from tests.lanes import with_every_lane
from tests.store.crowd import crowd, fill
from tests.store.next_release import add_next_release

SECOND = 1.0
FROM = "0001"
FEW, MANY = 20_000, 1_000_000

INDEXES = """
SELECT regexp_replace(indexdef, 'INDEX \\S+ ON', 'INDEX ON') FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1
"""
BROKEN = "SELECT indexrelid::regclass::text FROM pg_index WHERE NOT indisvalid"


async def at(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    try:
        return str(await connection.fetchval("SELECT version_num FROM alembic_version"))
    finally:
        await connection.close()


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.long)])
async def test_nobody_waits_a_second_while_much_is_brought_up_to_date(
    database: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await with_every_lane(database)
    await fill(database, count)
    add_next_release(monkeypatch)
    async with crowd(database) as others:
        began = asyncio.get_running_loop().time()
        await migrate(database)
        seconds = asyncio.get_running_loop().time() - began
    told = f"{count} rows from {FROM} to {newest()} in {seconds:.1f} s; longest wait for a lock {others.locked:.3f} s"
    logging.getLogger(__name__).info("%s, longest statement %.3f s", told, others.longest)
    if path := os.environ.get("STEAD_MEASURED"):
        with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123
            file.write(f"{told}, longest statement {others.longest:.3f} s of {others.done}\n")
    assert await at(database) == newest()
    assert others.done > 20
    assert others.locked < SECOND, f"{told}: {others.behind}"


async def test_who_keeps_others_waiting_is_seen(database: str) -> None:
    await with_every_lane(database)
    await fill(database, 100)
    holder = await asyncpg.connect(database)
    try:
        async with crowd(database) as others:
            async with holder.transaction():
                await holder.execute("LOCK TABLE resources")
                await asyncio.sleep(SECOND + 0.3)
            await asyncio.sleep(0.1)
    finally:
        await holder.close()
    assert others.locked > SECOND
    assert "resources" in others.behind


@pytest.mark.long
@pytest.mark.slow
async def test_a_lock_that_cannot_be_had_keeps_nobody_waiting_and_is_tried_again(migrated_before: str) -> None:
    holder = await asyncpg.connect(migrated_before)
    try:
        async with crowd(migrated_before) as others:
            hold = holder.transaction()
            await hold.start()
            await holder.execute("UPDATE resources SET version = version WHERE path = '/ns3/m3/g/3'")
            bringing = asyncio.create_task(migrate(migrated_before))
            await asyncio.sleep(3)  # sleep: the migration waits all that time
            assert not bringing.done()
            assert await at(migrated_before) == FROM
            await hold.rollback()
            await bringing
    finally:
        await holder.close()
    assert await at(migrated_before) == newest()
    assert others.locked < SECOND


async def test_who_never_lets_go_is_told_of(migrated_before: str) -> None:
    holder = await asyncpg.connect(migrated_before)
    try:
        async with holder.transaction():
            await holder.execute("UPDATE resources SET version = version WHERE path = '/ns3/m3/g/3'")
            with pytest.raises(MigrationBlocked, match="pg_stat_activity"):
                await upgrade(migrated_before, "head", patience=0.5)
    finally:
        await holder.close()
    assert await at(migrated_before) == FROM


@pytest.fixture
async def migrated_before(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A database whose next migration changes a large table, with some in it."""
    await with_every_lane(database)
    await fill(database, 200)
    add_next_release(monkeypatch)
    return database


async def test_controllers_that_start_together_take_turns(migrated_before: str) -> None:
    await asyncio.gather(*(migrate(migrated_before) for _ in range(3)))
    assert await at(migrated_before) == newest()


async def test_a_database_that_is_newer_is_left_as_it_is(migrated: str, caplog: pytest.LogCaptureFixture) -> None:
    connection = await asyncpg.connect(migrated)
    try:
        await connection.execute("UPDATE alembic_version SET version_num = '9999'")
    finally:
        await connection.close()
    with caplog.at_level(logging.WARNING):
        await migrate(migrated)
    assert await at(migrated) == "9999"
    assert "newer than this program" in caplog.text


async def test_what_is_made_ahead_is_what_a_new_database_has(migrated_before: str, databases: Databases) -> None:
    assert ahead_of(FROM, newest()) != []
    await migrate(migrated_before)
    with databases.new() as fresh:
        await migrate(fresh)
        await _have_same_indexes(migrated_before, fresh)


async def _have_same_indexes(first: str, second: str) -> None:
    old, new = await asyncpg.connect(first), await asyncpg.connect(second)
    try:
        assert [row[0] for row in await old.fetch(INDEXES)] == [row[0] for row in await new.fetch(INDEXES)]
        assert await old.fetch(BROKEN) == []
    finally:
        await old.close()
        await new.close()


async def test_an_index_that_was_broken_off_is_built_again(migrated_before: str) -> None:
    connection = await asyncpg.connect(migrated_before)
    try:
        await make_ahead(connection, FROM, "0002")
        await connection.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'operation_members_word'::regclass"
        )
        await migrate(migrated_before)
        assert await connection.fetch(BROKEN) == []
    finally:
        await connection.close()


def test_statements_end_where_lines_do_and_no_body_is_cut() -> None:
    text = "-- why;\nCREATE INDEX a\n    ON b (c);\nCREATE FUNCTION f() AS $$\n    SELECT 1;\n$$;\n"
    assert [one.split()[1] for one in statements(text)] == ["INDEX", "FUNCTION"]
    with pytest.raises(ValueError, match="no end"):
        list(statements("CREATE INDEX a ON b (c)"))


def test_a_lock_is_waited_for_less_than_a_second() -> None:
    assert migration_runner.LOCK < SECOND
