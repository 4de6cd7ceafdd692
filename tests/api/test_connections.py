"""Connections that say nothing, say it slowly, or do not listen: they are cut off, and nobody waits for them."""

from __future__ import annotations

import asyncio
import secrets
import socket
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path

import httpx
import pytest

from stead.api.connection_limits import LimitedConnection, raise_limit
from stead.dev.engines import Nats
from tests.api.cell import Cell, http
from tests.integration.test_processes import Stead

REQUEST = b"GET /livez HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody has little time."""
    monkeypatch.setattr(LimitedConnection, "header_time", 0.5)
    monkeypatch.setattr(LimitedConnection, "write_time", 0.5)


def connect(cell: Cell, **options: int) -> socket.socket:
    connection = socket.socket()
    for name, value in options.items():
        connection.setsockopt(socket.SOL_SOCKET, getattr(socket, name), value)
    connection.settimeout(10)
    connection.connect(("127.0.0.1", cell.socket.getsockname()[1]))
    return connection


def whole(connection: socket.socket) -> bytes:
    """The answer to a request."""
    data = b""
    while not data.endswith(b"ok\n"):
        data += connection.recv(65536)
    return data


def cut_off(connection: socket.socket) -> float:
    """Seconds until the other side hangs up."""
    began = time.monotonic()
    try:
        while connection.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return time.monotonic() - began


@pytest.mark.usefixtures("hasty")
def test_who_says_nothing_is_cut_off(cell: Cell) -> None:
    with closing(connect(cell)) as connection:
        assert 0.3 < cut_off(connection) < 8  # by default 10


@pytest.mark.usefixtures("hasty")
@pytest.mark.parametrize("before", [b"", REQUEST])
def test_headers_that_trickle_are_cut_off(cell: Cell, before: bytes) -> None:
    with closing(connect(cell)) as connection:
        if before:
            connection.sendall(before)
            assert whole(connection).startswith(b"HTTP/1.1 200")
        began = time.monotonic()
        with pytest.raises((BrokenPipeError, ConnectionResetError)):  # noqa: PT012
            for byte in b"GET /livez HTTP/1.1\r\nX-Header: " + b"a" * 1000:
                connection.sendall(bytes([byte]))
                time.sleep(0.02)
        assert 0.3 < time.monotonic() - began < 8


def test_headers_without_an_end_are_cut_off(cell: Cell) -> None:
    with closing(connect(cell)) as connection:
        connection.sendall(b"GET /livez HTTP/1.1\r\nX-Header: ")
        sent = 0
        try:
            while sent < 50 * LimitedConnection.header_size:
                sent += connection.send(b"a" * 8192)
                time.sleep(0.001)
        except (BrokenPipeError, ConnectionResetError):
            pass
        assert sent < 50 * LimitedConnection.header_size


@pytest.mark.usefixtures("hasty")
def test_who_asks_in_time_is_kept(cell: Cell) -> None:
    with closing(connect(cell)) as connection:
        for _ in range(4):
            connection.sendall(REQUEST)
            assert whole(connection).startswith(b"HTTP/1.1 200")
            time.sleep(0.25)  # sleep: half of the time that a connection may be idle


def test_the_one_that_waited_longest_makes_room(cell: Cell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LimitedConnection, "most", 5)
    silent = [connect(cell) for _ in range(5)]
    try:
        with http(cell) as client:
            assert client.get("/livez").status_code == 200
        assert cut_off(silent[0]) < 3
        silent[-1].sendall(REQUEST)
        assert silent[-1].recv(65536).startswith(b"HTTP/1.1 200")
    finally:
        for connection in silent:
            connection.close()


@pytest.fixture
def talkative(cell: Cell, ns: str) -> str:
    """A namespace of which there is much to tell: several MB of journal."""
    with http(cell) as client:
        spec = {"text": "x" * 100_000}
        for number in range(60):
            body = {"kind": "vm", "spec": {"provider": "sim", "region": "a", **spec}}
            client.post(f"/v1/resources/{ns}/m/s/{number}", json=body).raise_for_status()
    cell.numbered()
    return ns


@pytest.mark.long
@pytest.mark.usefixtures("hasty")
def test_a_follower_who_does_not_read_is_cut_off(cell: Cell, talkative: str) -> None:
    limits = cell.app.state.limits
    ask = f"GET /v1/events?after=0&path=/{talkative} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    deaf = connect(cell, SO_RCVBUF=4096)
    with closing(deaf):
        before = limits.streams.taken
        deaf.sendall(ask)
        deadline = time.monotonic() + 60
        while limits.streams.taken == before:
            assert time.monotonic() < deadline, "it never began"
            time.sleep(0.005)
        while limits.streams.taken > before:
            assert time.monotonic() < deadline, "it is still there"
            time.sleep(0.02)
    with http(cell) as client, client.stream("GET", f"/v1/events?after=0&path=/{talkative}") as answer:
        size = 0
        for part in answer.iter_raw():
            size += len(part)
            if size > 5_000_000:
                break
        assert size > 5_000_000, "whoever reads gets all of it"


def test_files_are_left_for_the_rest() -> None:
    assert raise_limit(100) == 100
    assert 1 <= raise_limit(10**9) < 10**9


# A crowd, before a real server.

CROWD = 1000


@pytest.fixture
def server(migrated: str, nats_server: Nats) -> Iterator[Stead]:
    words = (
        "server",
        "--open",
        "--database",
        migrated,
        "--nats",
        nats_server.url,
        "--cell",
        f"c{secrets.token_hex(4)}",
    )
    with Stead(*words, port_option=True) as server:
        yield server


async def latencies(port: int, seconds: float) -> list[float]:
    """Of reads, one after the other."""
    found = []
    end = time.monotonic() + seconds
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False, verify=False) as client:
        while time.monotonic() < end:
            for address in ("/livez", "/v1/resources"):
                began = time.perf_counter()
                (await client.get(address)).raise_for_status()
                found.append(time.perf_counter() - began)
    return sorted(found)


def p99(found: list[float]) -> float:
    return found[int(len(found) * 0.99)]


@asynccontextmanager
async def crowd(port: int) -> AsyncIterator[list[asyncio.StreamWriter]]:
    """A third say nothing, a third trickle headers, a third trickle a body; whoever is cut off comes again."""
    begin = [b"", b"GET /livez HTTP/1.1\r\nX: ", b"POST /v1/resources/a/b HTTP/1.1\r\nContent-Length: 999999\r\n\r\n"]
    writers: list[asyncio.StreamWriter] = []
    again = 0

    async def trickle(number: int) -> None:
        nonlocal again
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writers.append(writer)
                stack.callback(writer.close)
                writer.write(begin[number % 3])
                while not writer.is_closing():
                    await asyncio.sleep(1)  # sleep: the pace of a slow client
                    if number % 3:
                        writer.write(b"a")
                        await writer.drain()
            except OSError:
                again += 1
                await asyncio.sleep(0.2)

    async with AsyncExitStack() as stack:
        tasks = [asyncio.create_task(trickle(number)) for number in range(CROWD)]
        try:
            while len(writers) < CROWD:
                await asyncio.sleep(0.05)
            yield writers
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.alone
async def test_a_thousand_slow_connections_starve_nobody(server: Stead) -> None:
    await latencies(server.port, 1)
    alone = p99(await latencies(server.port, 4))
    async with crowd(server.port):
        async with asyncio.timeout(60):  # the kernel lets them in before the server does
            while len(list(Path(f"/proc/{server.pid}/fd").iterdir())) <= CROWD:
                await asyncio.sleep(0.1)
        beside = p99(await latencies(server.port, 12))  # longer than they may take: all of them are cut off once
    alone = max(alone, p99(await latencies(server.port, 4)))  # others may have begun to use the machine meanwhile
    assert beside < max(5 * alone, 0.25), (alone, beside)
