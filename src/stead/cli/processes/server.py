"""A server: the HTTP interface of a cell, and beside it a controller."""

from __future__ import annotations

import asyncio
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import uvicorn

from stead.api import create_app
from stead.api.connection_limits import LimitedConnection, raise_limit
from stead.api.limits import Limits
from stead.api.rates import said
from stead.application.commands import Application
from stead.build import Authenticator, open_application
from stead.cli.processes import running
from stead.cli.processes.https import HttpsCertificate
from stead.cli.processes.place import Place
from stead.telemetry import exposition

log = logging.getLogger(__name__)

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
        proxies: Sequence[str] = (),
    ) -> None:
        """`proxies` are the networks of proxies that are believed what they say of scheme and client."""
        self.proxies = list(proxies)
        self.host, self.port = host, port
        self.rates = said(rates or {})
        self.certificate: HttpsCertificate | None = None
        if certificate is not None and key is not None:
            self.certificate = HttpsCertificate(certificate, key)

    def config(self, application: Application, cell: str) -> uvicorn.Config:
        """A server of that application, in a cell."""
        LimitedConnection.most = raise_limit()
        return uvicorn.Config(
            create_app(application, cell=cell, limits=Limits(rates=self.rates)),
            host=self.host,
            port=self.port,
            http=LimitedConnection,
            ws="none",
            log_config=None,
            access_log=False,  # the app tells of requests itself, each with its id
            lifespan="off",
            proxy_headers=bool(self.proxies),
            forwarded_allow_ips=self.proxies,
            ssl_certfile=self.certificate.file if self.certificate else None,
            ssl_keyfile=self.certificate.key if self.certificate else None,
        )


def run(place: Place, listening: Listening, entry: Authenticator) -> None:
    """The HTTP interface, and beside it a process that carries on what it lets in."""
    running.run(_server(place, listening, entry))


async def _server(place: Place, listening: Listening, entry: Authenticator) -> None:
    async with open_application(
        place.database, place.nats, place.cell, entry=entry, **place.options()
    ) as application:
        await _warn_of_access(application, entry)
        command = [*_own_command(), "controller", *place.words()]
        with TemporaryDirectory(prefix="stead-metrics-") as folder:
            socket = Path(folder) / "socket"  # its path may have about a hundred characters
            beside = partial(exposition.scrape_socket, socket)
            config = listening.config(replace(application, beside=beside), place.cell)
            told = {**place.addresses(), exposition.SOCKET: str(socket)}
            config.load()
            tasks = [asyncio.create_task(_beside(command, told))]
            if listening.certificate is not None and config.ssl is not None:
                tasks.append(asyncio.create_task(listening.certificate.follow(config.ssl)))
            try:
                await uvicorn.Server(config).serve()
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)


async def _warn_of_access(application: Application, entry: Authenticator) -> None:
    """Warn where every caller has access, or none has."""
    if entry.open:
        log.warning("server.open: every process of this machine has access to everything without authentication")
    elif entry.issuer is None and not await application.has_tokens():
        log.warning(
            "server.no_callers: no token and no issuer exist; create a first token with "
            "`stead token create root --role admin --direct --database …`"
        )


def _own_command() -> list[str]:
    """How this process was called, up to the command."""
    said = sys.orig_argv
    return [sys.executable, *(said[1 : said.index("server")] if "server" in said else ["-m", "stead"])]


async def _beside(command: Sequence[str], told: Mapping[str, str]) -> None:
    """A process that runs for as long as this one; where it ends by itself, another takes its place."""
    while True:
        env = {**os.environ, **told, running.WITH_PARENT: "1"}
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
