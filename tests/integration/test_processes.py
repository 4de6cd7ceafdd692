"""Server, agent and simulated cloud as processes, used through the command line as a person would."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest

from tests.drivers.cloud import SimCloud
from tests.servers import Nats, Server


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


@pytest.fixture
def address(migrated: str, nats_server: Nats) -> Iterator[str]:
    """Where a cell with one controller, one agent and one provider listens."""
    cell = f"p{os.urandom(4).hex()}"
    bus = ("--nats", nats_server.url, "--cell", cell)
    with (
        SimCloud() as cloud,
        Stead("server", "--database", migrated, *bus, port_option=True) as server,
        Stead("agent", *bus, "--lane", "aws.us-east-1", "--set", f"url={cloud.url}", "--name", "a1"),
    ):
        yield f"http://127.0.0.1:{server.port}"


def stead(address: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stead", *words, "--server", address]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


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
