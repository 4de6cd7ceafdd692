"""The processes of a cell, run until they are told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from stead.agent import entry
from stead.api import create_app
from stead.controller.engine import door, engine
from stead.lifecycle.files.times import seconds
from stead.lifecycle.pace import DEFAULT
from stead.pki.identity import Identity

log = logging.getLogger(__name__)

WITH_PARENT = "STEAD_WITH_PARENT"
"""In the environment of a process that ends with the one that has started it."""

POLITE = 5
"""By how much what carries on lets those go first who answer."""

PAUSE = 1.0
"""Seconds before another process takes the place of one that ended."""


@dataclass(frozen=True)
class Place:
    """Where a cell's database and bus are, and as whom one speaks on the bus."""

    database: str
    nats: str
    cell: str
    pace: float = 1.0
    identity: Path | None = None
    lifetime: str = "30d"
    """Of what agents connect with."""

    def words(self) -> list[str]:
        """The same, as it is told to another process."""
        words = ["--database", self.database, "--nats", self.nats, "--cell", self.cell, "--pace", str(self.pace)]
        given = ["--identity", str(self.identity)] if self.identity is not None else []
        return [*words, *given, "--agent-lifetime", self.lifetime]

    def options(self) -> dict[str, Any]:
        """The same, as the engine takes it."""
        return {
            "pace": DEFAULT.scaled(self.pace),
            "identity": self.identity,
            "lifetime": float(seconds(self.lifetime)),
        }


@dataclass(frozen=True)
class Web:
    """Where the HTTP interface listens; with a certificate, over TLS."""

    host: str
    port: int
    certificate: Path | None = None
    key: Path | None = None


def server(place: Place, web: Web) -> None:
    """The HTTP interface, and beside it a process that carries on what it lets in."""
    _run(_server(place, web))


def controller(place: Place) -> None:
    """A controller alone. With a parent, it ends when that does, however that ends."""
    if WITH_PARENT in os.environ:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        os.nice(POLITE)
    _run(_controller(place))


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


def agent(
    nats: str,
    cell: str,
    name: str,
    lanes: Sequence[str],
    driver: str,
    settings: Mapping[str, str],
    identity: Identity | None = None,
) -> None:
    """An agent for some lanes."""
    config = {lane: entry.lane_config(driver, lane, settings) for lane in lanes}
    _run(entry.run(nats, cell, name, config, identity))


def _run(program: Coroutine[Any, Any, None]) -> None:
    """On the faster event loop, where there is one. What lives here lives long, so garbage is rarely looked for."""
    gc.set_threshold(50_000, 50, 100)
    if sys.platform == "win32":
        asyncio.run(program)
    else:
        uvloop.run(program)


async def _server(place: Place, web: Web) -> None:
    async with door(place.database, place.nats, place.cell, **place.options()) as service:
        config = uvicorn.Config(
            create_app(service),
            host=web.host,
            port=web.port,
            log_config=None,
            lifespan="off",
            ssl_certfile=web.certificate,
            ssl_keyfile=web.key,
        )
        beside = asyncio.create_task(_beside([*_own_command(), "controller", *place.words()]))
        try:
            await uvicorn.Server(config).serve()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)


def _own_command() -> list[str]:
    """How this process was called, up to the command."""
    said = sys.orig_argv
    return [sys.executable, *(said[1 : said.index("server")] if "server" in said else ["-m", "stead"])]


async def _beside(command: Sequence[str]) -> None:
    """A process that runs for as long as this one; where it ends by itself, another takes its place."""
    while True:
        env = {**os.environ, WITH_PARENT: "1"}
        process = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.PIPE, env=env)
        try:
            code = await process.wait()
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                process.terminate()
            await process.wait()
            raise
        log.error("the controller ended with %s; another begins", code)
        await asyncio.sleep(PAUSE)


async def _controller(place: Place) -> None:
    async with engine(place.database, place.nats, place.cell, **place.options()) as e:
        running = asyncio.create_task(e.controller.run())
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, running.cancel)
        with suppress(asyncio.CancelledError):
            await running
