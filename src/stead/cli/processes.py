"""The processes of a cell, run until they are told to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import ssl
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import uvicorn
import uvloop

from stead.agent import entry
from stead.agent.entry import WrongSettings
from stead.api import create_app
from stead.api.connections import Guarded, raise_limit
from stead.api.limits import Limits
from stead.api.rates import said
from stead.controller.engine import Entry, door, engine
from stead.controller.view import Service
from stead.lifecycle.pace import DEFAULT
from stead.secrets.sources import private

__all__ = ["Listening", "WrongSettings", "agent", "controller", "server"]

log = logging.getLogger(__name__)

WITH_PARENT = "STEAD_WITH_PARENT"
"""In the environment of a process that ends with the one that has started it."""

POLITE = 5
"""By how much what carries on lets those go first who answer."""

PAUSE = 1.0
"""Seconds before another process takes the place of one that ended."""


class Listening:
    """Where a server listens, and for whom. Raises `ValueError` where that cannot be."""

    def __init__(
        self,
        host: str,
        port: int,
        rates: Mapping[str, float] | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
    ) -> None:
        self.host, self.port, self.certificate, self.key = host, port, certificate, key
        self.rates = said(rates or {})
        if certificate is not None and key is not None:
            try:
                private(key)
                ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
            except OSError as error:
                raise ValueError(f"{certificate} and {key} cannot be used: {error.strerror or error}") from None

    def config(self, service: Service) -> uvicorn.Config:
        """A server of that service."""
        Guarded.most = raise_limit()
        return uvicorn.Config(
            create_app(service, limits=Limits(rates=self.rates)),
            host=self.host,
            port=self.port,
            http=Guarded,
            ws="none",
            log_config=None,
            lifespan="off",
            ssl_certfile=self.certificate,
            ssl_keyfile=self.key,
        )


def server(database: str, nats: str, cell: str, listening: Listening, pace: float, entry: Entry) -> None:
    """The HTTP interface, and beside it a process that carries on what it lets in."""
    _run(_server(database, nats, cell, listening, pace, entry))


def controller(database: str, nats: str, cell: str, pace: float) -> None:
    """A controller alone. With a parent, it ends when that does, however that ends."""
    if WITH_PARENT in os.environ:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        os.nice(POLITE)
    _run(_controller(database, nats, cell, pace))


def _end_with_parent() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os._exit(0)


def agent(nats: str, cell: str, name: str, lanes: Sequence[str], driver: str, settings: Mapping[str, Any]) -> None:
    """An agent for some lanes."""
    _run(entry.run(nats, cell, name, {lane: entry.lane_config(driver, lane, settings) for lane in lanes}))


def _run(program: Coroutine[Any, Any, None]) -> None:
    """On the faster event loop, where there is one. What lives here lives long, so garbage is rarely looked for."""
    gc.set_threshold(50_000, 50, 100)
    if sys.platform == "win32":
        asyncio.run(program)
    else:
        uvloop.run(program)


async def _server(database: str, nats: str, cell: str, listening: Listening, pace: float, entry: Entry) -> None:
    async with door(database, nats, cell, entry=entry, pace=DEFAULT.scaled(pace)) as service:
        await _tell(service, entry)
        config = listening.config(service)
        # Addresses go by the environment: in them may be passwords, and others can read a command line.
        addresses = {"STEAD_DATABASE": database, "STEAD_NATS": nats}
        words = ["--cell", cell, "--pace", str(pace)]
        beside = asyncio.create_task(_beside([*_own_command(), "controller", *words], addresses))
        try:
            await uvicorn.Server(config).serve()
        finally:
            beside.cancel()
            await asyncio.gather(beside, return_exceptions=True)


async def _tell(service: Service, entry: Entry) -> None:
    """Say who is let in, where that may surprise."""
    if entry.open:
        log.warning("nobody is asked who they are: whoever reaches this machine's loopback may do everything")
    elif entry.issuer is None and not await service.view.store.tokens():
        log.warning(
            "nobody can ask for anything yet: make a first token with "
            "`stead token create root --role admin --direct --database …`"
        )


def _own_command() -> list[str]:
    """How this process was called, up to the command."""
    said = sys.orig_argv
    return [sys.executable, *(said[1 : said.index("server")] if "server" in said else ["-m", "stead"])]


async def _beside(command: Sequence[str], told: Mapping[str, str]) -> None:
    """A process that runs for as long as this one; where it ends by itself, another takes its place."""
    while True:
        env = {**os.environ, **told, WITH_PARENT: "1"}
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


async def _controller(database: str, nats: str, cell: str, pace: float) -> None:
    async with engine(database, nats, cell, pace=DEFAULT.scaled(pace)) as e:
        running = asyncio.create_task(e.controller.run())
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, running.cancel)
        with suppress(asyncio.CancelledError):
            await running
