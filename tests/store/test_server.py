"""A server that takes another's place may lack what that one had acknowledged: fences from before are void."""

from __future__ import annotations

import asyncio
import shutil
from contextlib import AsyncExitStack

import pytest

from stead.application.unavailable import AWAY
from stead.dev.engines import Postgres
from stead.store import Store
from stead.store.migrate import migrate


def follow(postgres: Postgres) -> None:
    """Restart it as a standby."""
    postgres.stop()
    signal = postgres.data / "standby.signal"
    signal.touch()
    if postgres.user is not None:
        shutil.chown(signal, postgres.user)
    postgres.start()


def promote(postgres: Postgres) -> None:
    """Restart it as a standby that is then promoted, which begins a new timeline."""
    follow(postgres)
    postgres.tool("psql", "--command", "SELECT pg_promote()", "postgres")


@pytest.mark.long
async def test_a_server_that_was_promoted_is_another_incarnation() -> None:
    with Postgres(fsync=False) as postgres:
        dsn = postgres.create_database("cell")
        await migrate(dsn)
        async with Store.open(dsn) as store:
            assert store.incarnation == 1
            await asyncio.to_thread(postgres.restart)  # the same again: nothing was lost
            async with Store.open(dsn) as again:
                assert again.incarnation == 1
            await asyncio.to_thread(promote, postgres)
            async with Store.open(dsn) as after:
                assert after.incarnation == 2
            assert (
                await store.resources.list_paths(None, "/", "", 1) == []
            )  # whoever connects anew has learned it with that
            assert store.incarnation == 2


@pytest.mark.long
async def test_a_server_that_follows_another_is_as_good_as_away() -> None:
    with Postgres(fsync=False) as postgres:
        dsn = postgres.create_database("cell")
        await migrate(dsn)
        await asyncio.to_thread(follow, postgres)
        with pytest.raises(AWAY, match="follows another"):
            async with Store.open(dsn):
                pass


async def test_it_rises_once_however_many_meet_the_server_at_the_same_time(migrated: str) -> None:
    async with Store.open(migrated) as store:
        await store.pool.execute("UPDATE cell SET server = 'another'")
        async with AsyncExitStack() as stack:
            met = await asyncio.gather(*(stack.enter_async_context(Store.open(migrated)) for _ in range(8)))
            assert {one.incarnation for one in met} == {2}


async def test_a_cell_from_before_meets_its_server_as_the_one_that_it_had(migrated: str) -> None:
    async with Store.open(migrated) as store:
        await store.pool.execute("UPDATE cell SET server = ''")
    async with Store.open(migrated) as store:
        assert store.incarnation == 1
        assert await store.pool.fetchval("SELECT server = server_identity() FROM cell")
