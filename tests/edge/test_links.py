"""Links that are as bad as they are told to be, and of which nothing is left behind."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.dev.children import wait_until
from tests.edge import links as links_module
from tests.edge.links import HUB, Link, Links, possible, within

pytestmark = pytest.mark.skipif(possible() != "", reason=possible())

PORT = 9999
CLEAR = 9998

ECHO = f"""
import asyncio
async def talk(reader, writer):
    while data := await reader.read(65536):
        writer.write(data)
async def main():
    servers = [await asyncio.start_server(talk, "0.0.0.0", port) for port in ({PORT}, {CLEAR})]
    print("up", flush=True)
    await asyncio.gather(*(server.serve_forever() for server in servers))
asyncio.run(main())
"""

TALK = f"""
import socket, sys, time
s = socket.create_connection(("{HUB}", int(sys.argv[2])), timeout=float(sys.argv[3]))
s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
began, count, got = time.monotonic(), int(sys.argv[1]), b""
sent = b"".join(n.to_bytes(4) * 50 for n in range(count))
for n in range(count):
    s.sendall(sent[200 * n : 200 * n + 200])
while len(got) < len(sent):
    got += s.recv(65536)
print(time.monotonic() - began if got == sent else "garbled")
"""


@pytest.fixture
def links() -> Iterator[Links]:
    with Links(2, clear=[CLEAR]) as some:
        echo = subprocess.Popen([*within(some.hub), sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
        assert echo.stdout is not None
        echo.stdout.readline()
        yield some
        echo.kill()
        echo.wait()
        echo.stdout.close()
    links_module.gone(some)


def talk(links: Links, place: int, count: int = 1, port: int = PORT, patience: float = 20.0) -> float | None:
    """Seconds until so many messages have come back, whole and in order; None where they do not."""
    words = [*within(links.names[place]), sys.executable, "-c", TALK, str(count), str(port), str(patience)]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=60)
    if done.returncode:
        assert "TimeoutError" in done.stderr, done.stderr
        return None
    return float(done.stdout)


def test_a_cut_link_lets_nothing_through_and_heals(links: Links) -> None:
    assert talk(links, 0) is not None
    for cut in ("both", "up", "down"):
        links.set(0, Link(cut=cut))
        assert talk(links, 0, patience=0.5) is None
        assert talk(links, 1) is not None
    links.heal()
    assert talk(links, 0) is not None
    assert links.lost["cut off"] > 0


def test_what_looks_from_behind_always_gets_through(links: Links) -> None:
    links.set(0, Link(cut="both"))
    assert talk(links, 0, port=CLEAR) is not None


def test_a_slow_link_is_slow_both_ways(links: Links) -> None:
    links.set(0, Link(delay=0.1))
    took, other = talk(links, 0), talk(links, 1)
    assert took is not None
    assert other is not None
    assert took >= 0.2
    assert other < 0.2


def test_what_is_lost_repeated_and_overtaken_comes_whole_in_the_end(links: Links) -> None:
    links.set(0, Link(loss=0.1, delay=0.01, jitter=0.03, duplicate=0.2))
    assert talk(links, 0, 500) is not None
    links.close()
    assert links.lost["lost"] > 0
    assert links.counts["delayed"] > 0
    assert links.counts["repeated"] > 0
    assert links.counts["overtaken"] > 0


def test_when_its_maker_is_killed_all_of_it_goes() -> None:
    make = "import sys, time; from tests.edge.links import Links; some = Links(1).__enter__(); "
    make += "print(some.hub, some.middle, *some.names, flush=True); time.sleep(60)"
    maker = subprocess.Popen([sys.executable, "-c", make], stdout=subprocess.PIPE, text=True, cwd=links_module.ROOT)
    assert maker.stdout is not None
    names = maker.stdout.readline().split()
    assert len(names) == 3
    assert all(Path(f"/run/netns/{name}").exists() for name in names)
    os.kill(maker.pid, signal.SIGKILL)
    maker.wait()
    maker.stdout.close()
    wait_until(lambda: not any(Path(f"/run/netns/{name}").exists() for name in names), "the namespaces to go")


def test_whoever_enters_is_at_the_hub() -> None:
    enter = "import socket; from tests.edge.links import Links\n"
    enter += "with Links(1) as some:\n    some.enter(); print([name for _, name in socket.if_nameindex()])"
    done = subprocess.run(
        [sys.executable, "-c", enter], check=True, capture_output=True, text=True, cwd=links_module.ROOT
    )
    assert done.stdout.strip() == "['lo', 'far0']"
    assert "far0" not in [name for _, name in socket.if_nameindex()]
