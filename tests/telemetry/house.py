"""A cell of real processes for these tests: a server with its controller, an agent, and a simulated cloud."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from stead.dev.children import Server, free_port
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud

LANE = "aws.us-east-1"


class Stead(Server):
    """A `stead` process, with what it says in its log."""

    def __init__(self, *arguments: str, told: Mapping[str, str] | None = None, web: bool = False) -> None:
        super().__init__("stead")
        self.arguments = arguments
        self.told = dict(told or {})
        self.web = web

    def command(self) -> Sequence[str | Path]:
        port = ["--port", str(self.port)] if self.web else []
        words = [f"{name}={value}" for name, value in self.told.items()]
        return ["env", *words, sys.executable, "-m", "stead", *self.arguments, *port]

    def ready(self) -> bool:
        if not self.web:
            return True
        try:
            return httpx.get(f"http://127.0.0.1:{self.port}/readyz", timeout=1).status_code == 200
        except httpx.HTTPError:
            return False


@dataclass(frozen=True)
class House:
    """What runs, and where it answers."""

    server: Stead
    agent: Stead
    metrics: str
    """Of the agent."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


@contextmanager
def house(dsn: str, nats: Nats, told: Mapping[str, str] | None = None) -> Iterator[House]:
    """A cell that runs while this lasts; its processes are told something by the environment."""
    bus = ("--nats", nats.url, "--cell", f"t{os.urandom(4).hex()}")
    port = free_port()
    words = ("--lane", LANE, "--name", "a1", "--metrics-port", str(port))
    with (
        SimCloud() as cloud,
        Stead("server", "--open", "--database", dsn, *bus, told=told, web=True) as server,
        Stead("agent", "run", *bus, *words, "--set", f"url={cloud.url}", told=told) as agent,
    ):
        yield House(server, agent, f"http://127.0.0.1:{port}/metrics")
