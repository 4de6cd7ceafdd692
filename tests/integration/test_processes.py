"""Server, agent and simulated cloud as processes, used through the command line as a person would."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from stead.client import SyncClient
from stead.dev.children import Server, alive
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud


class Stead(Server):
    """A `stead` process."""

    def __init__(self, *arguments: str, port_option: bool = False) -> None:
        super().__init__("stead")
        self.arguments = arguments
        self.port_option = port_option

    def command(self) -> Sequence[str | Path]:
        port = ["--port", str(self.port)] if self.port_option else []
        return [sys.executable, "-m", "stead", *self.arguments, *port]

    def ready(self) -> bool:
        if not self.port_option:
            return True
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False


beside: list[Stead] = []
"""The server that runs, which has a process beside it."""

MCI = """
defaults: {provider: aws, region: us-east-1, spec: small, image: debian-12}
subgroups: [{name: front, size: 5}]
"""


def until_served(url: str) -> None:
    """Wait until the agent has said that it is there."""
    with SyncClient(url) as client:
        end = time.monotonic() + 60  # deadline: a process starts in seconds
        while not any(agent.connected for lane in client.lanes() for agent in lane.agents):
            assert time.monotonic() < end
            time.sleep(0.05)


@pytest.fixture
def address(migrated: str, nats_server: Nats) -> Iterator[str]:
    """Where a cell with one controller, one agent and one provider listens."""
    cell = f"p{os.urandom(4).hex()}"
    bus = ("--nats", nats_server.url, "--cell", cell)
    with (
        SimCloud() as cloud,
        Stead("server", "--open", "--database", migrated, *bus, port_option=True) as server,
        Stead("agent", "run", *bus, "--lane", "aws.us-east-1", "--set", f"url={cloud.url}", "--name", "a1"),
    ):
        beside.append(server)
        until_served(f"http://127.0.0.1:{server.port}")
        yield f"http://127.0.0.1:{server.port}"
    beside.clear()


def stead(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stead", *words, "--server", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.long
def test_a_vm_by_command(address: str) -> None:
    place = ("--provider", "aws", "--region", "us-east-1")
    made = stead(address, "vm", "create", "shop/web/front/1", *place)
    assert made.returncode == 0, made.stderr
    assert stead(address, "vm", "suspend", "shop/web/front/1").returncode == 0
    again = stead(address, "vm", "suspend", "shop/web/front/1")
    assert again.returncode == 3
    assert "cannot start in Suspended" in again.stderr
    shown = stead(address, "vm", "show", "shop/web/front/1", "-o", "json")
    assert '"Suspended"' in shown.stdout
    assert stead(address, "vm", "terminate", "shop/web/front/1").returncode == 0


def children(server: Stead) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()]


@pytest.mark.long
def test_what_carries_on_beside_a_server_is_started_again_when_it_dies(address: str, tmp_path: Path) -> None:
    (server,) = beside
    (first,) = children(server)
    os.kill(first, signal.SIGKILL)
    (tmp_path / "mci.yaml").write_text(MCI)
    made = stead(address, "mci", "create", "shop/web", "-f", str(tmp_path / "mci.yaml"))
    assert made.returncode == 0, made.stderr
    assert stead(address, "mci", "status", "shop/web").stdout == "shop/web  Running:5 (R:5/5)\n"
    (second,) = children(server)
    assert second != first


@pytest.mark.long
def test_what_carries_on_beside_a_server_ends_with_it(address: str) -> None:
    (server,) = beside
    (pid,) = children(server)
    server.kill()
    deadline = time.monotonic() + 60
    while alive(pid):
        assert time.monotonic() < deadline, "it outlives its server"
        time.sleep(0.05)
