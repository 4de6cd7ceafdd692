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
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
import uvloop

from stead.agent import entry
from stead.agent.agent import SiteFailed
from stead.agent.entry import WrongSettings
from stead.agent.succession import WITH_PARENT, Succession
from stead.api import create_app
from stead.api.connections import Guarded, raise_limit
from stead.api.limits import Limits
from stead.api.rates import said
from stead.controller.engine import Entry, door, engine
from stead.controller.view import Service
from stead.lifecycle.files.times import seconds
from stead.lifecycle.pace import DEFAULT
from stead.pki.identity import Identity
from stead.secrets.sources import private
from stead.telemetry import exposing

__all__ = [
    "Listening",
    "Metrics",
    "Place",
    "PortTaken",
    "SiteFailed",
    "WrongSettings",
    "agent",
    "controller",
    "server",
]

log = logging.getLogger(__name__)

POLITE = 5
"""By how much what carries on lets those go first who answer."""

GRACE = 5.0
"""Seconds that an agent has to end in order when it is told to."""

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
    leaves: bool = False
    """Whether agents of sites may be behind leaf nodes."""
    webhooks: Sequence[str] = ()
    """How addresses begin at which owners of leases may have something told."""
    replicas: int = 1
    """Servers of the bus that keep each message."""

    def words(self) -> list[str]:
        """The same, as it is told to another process; without addresses."""
        given = ["--identity", str(self.identity)] if self.identity is not None else []
        given += ["--leaf-nodes"] if self.leaves else []
        given += [word for prefix in self.webhooks for word in ("--webhooks", prefix)]
        given += ["--bus-replicas", str(self.replicas)]
        return ["--cell", self.cell, "--pace", str(self.pace), *given, "--agent-lifetime", self.lifetime]

    def addresses(self) -> dict[str, str]:
        """They go by the environment: in them may be passwords, and others can read a command line."""
        return {"STEAD_DATABASE": self.database, "STEAD_NATS": self.nats}

    def options(self) -> dict[str, Any]:
        """The same, as the engine takes it."""
        return {
            "pace": DEFAULT.scaled(self.pace),
            "identity": self.identity,
            "lifetime": float(seconds(self.lifetime)),
            "leaves": self.leaves,
            "replicas": self.replicas,
        }


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
            access_log=False,  # the app tells of requests itself, each with its id
            lifespan="off",
            ssl_certfile=self.certificate,
            ssl_keyfile=self.key,
        )


def server(place: Place, listening: Listening, entry: Entry) -> None:
    """The HTTP interface, and beside it a process that carries on what it lets in."""
    _run(_server(place, listening, entry))


def controller(place: Place, metrics: Metrics | None = None) -> None:
    """A controller alone. With a parent, it ends when that does, however that ends."""
    if WITH_PARENT not in os.environ:
        _expose(metrics)
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        os.nice(POLITE)
    _run(_controller(place))


@dataclass(frozen=True)
class Metrics:
    """Where a process without an HTTP interface tells its metrics."""

    host: str
    port: int


def _expose(metrics: Metrics | None, *, wait: bool = False) -> None:
    """Tell metrics on a port of their own. Raises `PortTaken` where that is somebody else's.

    Whoever is to replace an agent may `wait`: until then the port is that one's.
    """
    if metrics is not None and wait:
        threading.Thread(target=exposing.serve_when_free, args=(metrics.host, metrics.port), daemon=True).start()
    elif metrics is not None:
        try:
            exposing.serve(metrics.host, metrics.port)
        except OSError as error:
            says = f"metrics cannot be told at {metrics.host}:{metrics.port}: {error.strerror or error}"
            raise PortTaken(says) from None


class PortTaken(Exception):
    """Somebody else listens there."""


def _end_with_parent() -> None:
    while os.read(0, 1):  # not by sys.stdin, whose lock this thread would have when the process ends
        pass
    os._exit(0)


def agent(
    nats: str,
    cell: str,
    name: str,
    lanes: Sequence[str],
    driver: str,
    settings: Mapping[str, Any],
    identity: Identity | None = None,
    *,
    domain: str | None = None,
    leaf: str | None = None,
    versions: Path | None = None,
    succeeds: int = 0,
    metrics: Metrics | None = None,
) -> None:
    """An agent for some lanes; one of another version can replace it where `versions` has one.

    Raises `SiteFailed` where it cannot be said what a site has.
    """
    _expose(metrics, wait=bool(succeeds))
    config = {lane: entry.lane_config(driver, lane, settings) for lane in lanes}
    succession = Succession(versions, _own_words(), succeeds) if versions is not None else None
    try:
        _run(_until_told(entry.run(nats, cell, name, config, identity, succession, domain, leaf)))
    except BaseExceptionGroup as group:
        failed, others = group.split(SiteFailed)
        if failed is None or others is not None:
            raise
        raise SiteFailed("; ".join(map(str, _each(failed)))) from None


def _own_words() -> list[str]:
    """What this agent was told, without whom it has replaced."""
    words = sys.argv[1:]
    if "--succeeds" in words:
        at = words.index("--succeeds")
        del words[at : at + 2]
    return words


def _each(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    """What is in a group, however deep."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _each(error)
        else:
            yield error


def _run(program: Coroutine[Any, Any, None]) -> None:
    """On the faster event loop, where there is one. What lives here lives long, so garbage is rarely looked for."""
    gc.set_threshold(50_000, 50, 100)
    if sys.platform == "win32":
        asyncio.run(program)
    else:
        uvloop.run(program)


async def _until_told(program: Coroutine[Any, Any, None]) -> None:
    """Until it ends, or is told to by a signal, which the first process of a container does not die of by itself.

    What it is doing at a provider may take long; whoever wants it done finds out what became of it, so nobody waits.
    """
    running, told = asyncio.ensure_future(program), threading.Event()

    def end() -> None:
        told.set()
        running.cancel()
        last = threading.Timer(GRACE, os._exit, (0,))
        last.daemon = True
        last.start()

    if sys.platform != "win32":
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, end)
    try:
        await running
    except asyncio.CancelledError:
        if not told.is_set():
            raise


async def _server(place: Place, listening: Listening, entry: Entry) -> None:
    async with door(place.database, place.nats, place.cell, entry=entry, **place.options()) as service:
        await _tell(service, entry)
        command = [*_own_command(), "controller", *place.words()]
        with TemporaryDirectory(prefix="stead-metrics-") as folder:
            socket = Path(folder) / "controller"
            config = listening.config(replace(service, beside=partial(exposing.asked_at, socket)))
            told = {**place.addresses(), exposing.SOCKET: str(socket)}
            beside = asyncio.create_task(_beside(command, told))
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


async def _controller(place: Place) -> None:
    options = {**place.options(), "webhooks": place.webhooks}
    async with engine(place.database, place.nats, place.cell, **options) as e:
        if exposing.SOCKET in os.environ:
            await exposing.answer_on(Path(os.environ[exposing.SOCKET]))
        running = asyncio.create_task(e.controller.run())
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, running.cancel)
        with suppress(asyncio.CancelledError):
            await running
