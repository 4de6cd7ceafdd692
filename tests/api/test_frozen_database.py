"""A database that is frozen, slow, read-only or full: what callers are told, and how soon."""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

import httpx
import pytest

from stead.dev.children import children, signal_process, status, wait_until
from stead.dev.engines import Postgres, unprivileged_user
from stead.store import connections
from tests.api.cell import Cell, http
from tests.api.test_resources import SPEC, make, problem
from tests.lanes import every_lane

PATIENCE = 1.0
"""Shorter than a user has it, so that the tests need not wait for so long."""
VM = "/v1/resources/n/m/g/1"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with Postgres(fsync=False) as one:
        yield one


@pytest.fixture
def cell(postgres: Postgres, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cell]:
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "INTERVAL", 0.1)
    dsn = postgres.create_database(f"d{abs(hash(request.node.name))}")
    every_lane(dsn)
    with Cell(dsn) as one:
        yield one


@contextmanager
def frozen(postgres: Postgres) -> Iterator[None]:
    """No process of the server runs, as on a machine whose storage hangs."""
    stopped: list[int] = []
    try:
        stop(postgres.pid, stopped)  # first, so that no process comes to be in between
        for pid in children(postgres.pid):
            stop(pid, stopped)
        yield
    finally:
        for pid in stopped:
            signal_process(pid, signal.SIGCONT)


def stop(pid: int, stopped: list[int]) -> None:
    """Returns when it has stopped, or has ended: a worker of autovacuum may do that in between."""
    if signal_process(pid, signal.SIGSTOP):
        stopped.append(pid)
        wait_until(lambda: status(Path(f"/proc/{pid}")).get("State", "Z")[0] in "TZ", f"process {pid} to stop")


class Slow:
    """Passes on at once what is asked of the database, and later what it answers."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = [self._listener]
        self.seconds = 0.0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._to))
                self._open += [client, server]
                for source, sink, late in ((client, server, False), (server, client, True)):
                    threading.Thread(target=self._pass, args=(source, sink, late), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, late: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if late:
                    time.sleep(self.seconds)
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


def ready(web: httpx.Client) -> bool:
    return web.get("/readyz").status_code == 200


def until_ready(web: httpx.Client, wanted: bool = True) -> None:
    end = time.monotonic() + 60
    while ready(web) is not wanted:
        assert time.monotonic() < end
        time.sleep(0.05)


def test_requests_on_a_frozen_database_are_answered_in_time_and_served_again_after_it(
    cell: Cell, postgres: Postgres
) -> None:
    with http(cell) as web, ThreadPoolExecutor(30) as pool:
        assert make(web, "/n/m/g/1").status_code == 202
        with frozen(postgres):
            started = time.monotonic()
            reads = [pool.submit(web.get, VM) for _ in range(20)]
            writes = [pool.submit(make, web, f"/n/m/g/{n}") for n in range(2, 12)]
            for answer in [*reads, *writes]:
                found = answer.result(60)
                problem(found, 503, "unavailable")
                assert int(found.headers["retry-after"]) > 0
            assert time.monotonic() - started < 10
            assert not ready(web)
            assert web.get("/livez").status_code == 200
            started = time.monotonic()
            problem(web.get(VM), 503, "unavailable")
            assert 'stead_database_up{part="server"} 0.0' in web.get("/metrics").text
            assert time.monotonic() - started < PATIENCE
        until_ready(web)
        assert web.get(VM).json()["state"] == "Creating"
        assert make(web, "/n/m/g/12").status_code == 202
        used, idle, most = cell.store.connections()
        assert used + idle <= most


@pytest.mark.long
def test_requests_on_a_slow_database_are_answered_in_time(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "INTERVAL", 0.1)
    dsn = postgres.create_database("slow")
    every_lane(dsn)
    slow = Slow(postgres.port)
    with slow, Cell(dsn.replace(f":{postgres.port}/", f":{slow.port}/")) as cell, http(cell) as web:
        assert make(web, "/n/m/g/1").status_code == 202
        slow.seconds = 2 * PATIENCE
        started = time.monotonic()
        problem(web.get(VM), 503, "unavailable")
        assert time.monotonic() - started < 10
        until_ready(web, False)
        slow.seconds = 0
        until_ready(web)
        assert web.get(VM).json()["state"] == "Creating"


def test_changes_on_a_read_only_database_are_unavailable_and_the_server_is_not_ready(
    cell: Cell, postgres: Postgres
) -> None:
    with http(cell) as web:
        assert make(web, "/n/m/g/1").status_code == 202
        setting = "default_transaction_read_only"
        postgres.tool("psql", "-c", f"ALTER SYSTEM SET {setting} = on", "-c", "SELECT pg_reload_conf()")
        try:
            until_ready(web, False)
            problem(make(web, "/n/m/g/2"), 503, "unavailable")
            assert web.get(VM).json()["state"] == "Creating"
        finally:
            postgres.tool("psql", "-c", f"ALTER SYSTEM RESET {setting}", "-c", "SELECT pg_reload_conf()")
        until_ready(web)
        assert make(web, "/n/m/g/2").status_code == 202


@pytest.mark.long
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a file system of a given size")
def test_change_on_a_full_database_is_unavailable_until_there_is_space(
    postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "FULL_SECONDS", PATIENCE)
    with mounted(postgres.folder / "small") as small:
        postgres.tool("psql", "-c", f"CREATE TABLESPACE small LOCATION '{small}'")
        postgres.tool("createdb", "--template=template0", "--tablespace=small", "full")
        dsn = postgres.dsn("full")
        every_lane(dsn)
        with Cell(dsn) as cell, http(cell) as web:
            assert make(web, "/n/m/g/1").status_code == 202
            filler = small / "filler"
            free = os.statvfs(small)
            filler.write_bytes(bytes((free.f_bavail - 64) * free.f_bsize))
            answers = (large(web, f"/n/m/g/{n}") for n in range(2, 2000))
            refused = next(answer for answer in answers if answer.status_code != 202)
            problem(refused, 503, "unavailable")
            assert "no space left" in refused.json()["detail"]
            assert not ready(web)
            filler.unlink()
            until_ready(web)
            assert large(web, "/n/m/g/1999").status_code == 202
        postgres.drop_database("full")
        postgres.tool("psql", "-c", "DROP TABLESPACE small")


def large(web: httpx.Client, path: str) -> httpx.Response:
    return web.post(
        f"/v1/resources{path}", json={"kind": "vm", "spec": {**SPEC, "user_data": secrets.token_hex(10_000)}}
    )


@contextmanager
def mounted(folder: Path) -> Iterator[Path]:
    """A file system of 64 MB that the database server may write to."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=777", "tmpfs", folder], check=True)
    shutil.chown(folder, unprivileged_user())
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()
