"""The servers that tests run on: they start, survive what they are put through, and leave nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import nats
import nats.js.errors
import pytest

from stead.dev.children import NotStarted, alive, children, signal_process, status, wait_until
from stead.dev.engines import Nats, Postgres


@pytest.fixture(scope="module")
def own_postgres() -> Iterator[Postgres]:
    with Postgres() as server:
        yield server


LOST = (asyncpg.PostgresConnectionError, asyncpg.AdminShutdownError, asyncpg.InterfaceError, ConnectionError)


async def execute(dsn: str, statement: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


async def value(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        found: object = await connection.fetchval(query)
        return found
    finally:
        await connection.close()


@pytest.fixture(scope="module")
def seen() -> set[str]:
    """The databases that earlier tests had."""
    return set()


async def names(postgres: Postgres) -> list[str]:
    connection = await asyncpg.connect(postgres.dsn())
    try:
        return [str(row["datname"]) for row in await connection.fetch("SELECT datname FROM pg_database")]
    finally:
        await connection.close()


@pytest.mark.parametrize("_time", ["first", "second"])
async def test_a_database_is_empty_and_ones_own_and_gone_afterwards(
    database: str, postgres: Postgres, _time: str, seen: set[str]
) -> None:
    assert database not in seen
    there = {postgres.dsn(name) for name in await names(postgres)}
    assert database in there
    assert not there & seen  # the first is gone
    seen.add(database)
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert await value(database, tables) == 0
    await execute(database, "CREATE TABLE t ()")
    assert await value(database, tables) == 1
    assert await value(postgres.dsn(), tables) == 0


async def test_a_database_is_made_from_a_template_and_dropped_under_a_connection(postgres: Postgres) -> None:
    mould = postgres.create_database("mould")
    await execute(mould, "CREATE TABLE t AS SELECT 7 AS n")
    copy = postgres.create_database("copy", template="mould")
    assert await value(copy, "SELECT n FROM t") == 7
    holder = await asyncpg.connect(copy)
    postgres.drop_database("copy")
    postgres.drop_database("mould")
    with pytest.raises(LOST):
        await holder.fetchval("SELECT 1")
    await holder.close()
    with pytest.raises(RuntimeError, match='template database "mould" does not exist'):
        postgres.create_database("copy", template="mould")


async def test_a_server_is_durable_unless_one_asks_for_speed(own_postgres: Postgres, postgres: Postgres) -> None:
    assert await value(own_postgres.dsn(), "SHOW fsync") == "on"
    assert await value(postgres.dsn(), "SHOW fsync") == "off"


@pytest.mark.parametrize("way", ["stop", "immediate", "kill"])
async def test_postgres_comes_back_on_its_port_with_what_was_committed(own_postgres: Postgres, way: str) -> None:
    dsn = own_postgres.dsn()
    await execute(dsn, "DROP TABLE IF EXISTS t; CREATE TABLE t AS SELECT 7 AS n")
    holder = await asyncpg.connect(dsn)
    before = own_postgres.pid
    if way == "immediate":
        own_postgres.restart(mode="immediate")
    else:
        getattr(own_postgres, way)()
        with pytest.raises(OSError, match="Connect"):
            await asyncpg.connect(dsn)
        own_postgres.start()
    assert own_postgres.pid != before
    assert await value(dsn, "SELECT n FROM t") == 7
    with pytest.raises(LOST):
        await holder.fetchval("SELECT 1")
    await holder.close()


async def stream_exists(server: Nats) -> bool:
    client = await nats.connect(server.url)
    try:
        await client.jetstream().stream_info("kept")
    except nats.js.errors.NotFoundError:
        return False
    finally:
        await client.close()
    return True


async def test_nats_keeps_its_storage_over_a_crash_and_loses_it_when_wiped() -> None:
    with Nats() as server:
        url = server.url
        client = await nats.connect(url)
        await client.jetstream().add_stream(name="kept", subjects=["kept"])
        await client.close()
        server.kill()
        server.start()
        assert await stream_exists(server)
        server.restart()
        assert await stream_exists(server)
        server.stop()
        server.wipe()
        server.start()
        assert not await stream_exists(server)
        assert server.url == url


async def test_the_shared_nats_server_has_jetstream(nats_server: Nats) -> None:
    client = await nats.connect(nats_server.url)
    assert (await client.jetstream().account_info()).streams >= 0
    await client.close()


@pytest.mark.parametrize("make", [Nats, Postgres])
def test_a_server_that_does_not_start_says_why(make: type[Nats | Postgres], nats_server: Nats) -> None:
    server = make()
    server.port = nats_server.port
    if isinstance(server, Postgres):
        server.settings["port"] = str(server.port)
    try:
        with pytest.raises(NotStarted, match="in use"):
            server.start()
        assert not server.running
    finally:
        server.close()


def test_server_that_is_never_ready_is_ended_and_the_time_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stead.dev.children.START_TIMEOUT", 0.3)
    monkeypatch.setattr(Nats, "ready", lambda _: False)
    server = Nats()
    try:
        with pytest.raises(NotStarted, match="it was not ready within 0 s"):
            server.start()
        assert not server.running
    finally:
        server.close()


@pytest.mark.parametrize("make", [Nats, Postgres])
def test_a_closed_server_leaves_nothing(make: type[Nats | Postgres]) -> None:
    with make() as server:
        pids = [server.pid, *children(server.pid), server.keeper.pid]
        folder = server.folder
        assert folder.is_dir()
        assert alive(server.pid)
        assert alive(server.keeper.pid)
    assert not folder.exists()
    assert not any(alive(pid) for pid in pids)


def test_process_that_has_ended_is_signalled_without_an_error() -> None:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        assert signal_process(process.pid, signal.SIGSTOP)
        wait_until(lambda: status(Path(f"/proc/{process.pid}"))["State"][0] == "T", "it to stop")
        assert signal_process(process.pid, signal.SIGKILL, group=True)
    assert process.returncode == -signal.SIGKILL
    assert not signal_process(process.pid, signal.SIGKILL)
    assert not signal_process(process.pid, signal.SIGKILL, group=True)


def test_postgres_that_has_ended_by_itself_is_killed_and_closed_without_an_error() -> None:
    with Postgres() as server:
        signal_process(server.pid, signal.SIGQUIT)
        wait_until(lambda: not server.running, "it to end")
        server.kill()
        server.start()
        signal_process(server.pid, signal.SIGQUIT)
        wait_until(lambda: not server.running, "it to end")
    assert not server.folder.exists()


RUN = """
import signal, sys
from stead.dev.engines import Nats, Postgres
server = {"Nats": Nats, "Postgres": Postgres}[sys.argv[1]]()
server.start()
print(server.pid, server.keeper.pid, server.folder, flush=True)
signal.pause()
"""


@pytest.mark.parametrize("make", ["Nats", "Postgres"])
def test_a_killed_run_leaves_nothing(make: str) -> None:
    root = Path(__file__).parents[1]
    with subprocess.Popen([sys.executable, "-c", RUN, make], cwd=root, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid, keeper, folder = run.stdout.readline().split()
        os.kill(run.pid, signal.SIGKILL)
    wait_until(lambda: not alive(int(keeper)), "the keeper to be done")
    assert not alive(int(pid))
    assert not Path(folder).exists()
