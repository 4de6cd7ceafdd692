"""The connections of a process to the database leave nothing behind."""

from __future__ import annotations

import asyncio
import time

import asyncpg
import pytest

from stead.store import connections
from stead.store.connections import Connection, Connections

THERE = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'stead'"


async def met(_: Connection) -> None:
    """Nothing is looked up on a new connection."""


async def test_closing_while_the_first_sign_of_life_is_awaited_leaves_no_connection(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "INTERVAL", 0.01)
    watcher = await asyncpg.connect(migrated)
    try:
        async with Connections(migrated, 1, met):
            monkeypatch.setattr(connections, "TIME", f"{connections.TIME} FROM pg_sleep(0.5)")
            await until(watcher, 2)
        await until(watcher, 0)
    finally:
        await watcher.close()


async def until(watcher: Connection, number: int) -> None:
    end = time.monotonic() + 60
    while (there := await watcher.fetchval(THERE)) != number:
        assert time.monotonic() < end, f"{there} connections"
        await asyncio.sleep(0.01)
