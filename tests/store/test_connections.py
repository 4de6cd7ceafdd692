"""The connections of a process to the database leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time

import asyncpg
import pytest

from stead.dev.children import signal_process
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


async def test_statement_whose_backend_hangs_alone_ends_and_leaves_its_place_to_others(
    migrated: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_STATEMENT_SECONDS", 0.5)
    async with Connections(migrated, 1, met) as pool:
        backend = await pool.fetchval("SELECT pg_backend_pid()")
        os.kill(backend, signal.SIGSTOP)
        try:
            async with asyncio.timeout(60):
                with pytest.raises(connections.StatementUnanswered, match=r"within 0\.5 s"):
                    await pool.fetchval("SELECT 1")
                assert await pool.fetchval("SELECT pg_backend_pid()") != backend
        finally:
            signal_process(backend, signal.SIGCONT)
        assert pool.trouble == ""


async def until(watcher: Connection, number: int) -> None:
    end = time.monotonic() + 60
    while (there := await watcher.fetchval(THERE)) != number:
        assert time.monotonic() < end, f"{there} connections"
        await asyncio.sleep(0.01)
