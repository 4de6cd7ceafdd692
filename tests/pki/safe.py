"""A bus that lets in whom it knows, founded as `stead pki init` does it."""

from __future__ import annotations

import socket
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
from nats.aio.client import Client

from stead.bus.permissions import agent_permissions
from stead.bus.subjects import inbox
from stead.dev.children import Server
from stead.dev.engines import nats_binary
from stead.pki.claims import Permissions
from stead.pki.identity import Candidate, Description, Identity
from stead.pki.initialization import InitializedCell, found
from stead.pki.issuer import CredentialIssuer
from tests.subscribing import flushed

CELL = "safe"


class SafeNats(Server):
    """A NATS server with the settings that were made for it."""

    def __init__(self, cell: str = CELL) -> None:
        super().__init__("nats")
        self.cell = cell
        self.founded: InitializedCell = found(self.folder / "pki", cell, ["127.0.0.1", "localhost"], self.port)

    @property
    def url(self) -> str:
        return f"tls://127.0.0.1:{self.port}"

    @property
    def controller(self) -> Identity:
        return Identity(self.founded.controller)

    def command(self) -> Sequence[str | Path]:
        """In the folder of its settings, as they say."""
        return ["/bin/sh", "-c", f'cd "{self.founded.nats}" && exec "{nats_binary()}" -c nats.conf']

    def ready(self) -> bool:
        """It greets before it encrypts."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return f'"server_name":"{self.cell}-bus-1"'.encode() in connection.recv(4096)
        except OSError:
            return False

    def agent(self, folder: Path, name: str, lanes: Iterable[str], lifetime: float = 3600) -> Identity:
        """An identity, given out without a server in between."""
        lanes = list(lanes)
        candidate = Candidate(name)
        may = Permissions(*agent_permissions(self.cell, name, lanes), answers=1)
        issued = CredentialIssuer(self.controller).issue(
            name, candidate.user_key, candidate.request, may, lifetime, time.time()
        )
        about = Description(name, self.cell, [self.url], "agent", lanes)
        candidate.admitted(folder, about, issued.jwt, issued.certificate, issued.authority)
        return Identity(folder)


class Speaker:
    """A client of the bus that hears what it is told off for."""

    def __init__(self) -> None:
        self.errors: list[str] = []
        self.client: Client

    async def on_error(self, error: Exception) -> None:
        self.errors.append(str(error).lower())

    async def refused(self) -> list[str]:
        """What was refused since last asked. The server answers in order, so all is known after a flush."""
        await flushed(self.client)
        said, self.errors = self.errors, []
        return [error for error in said if "permissions violation" in error]


@asynccontextmanager
async def speaking(server: SafeNats, identity: Identity, **options: Any) -> AsyncIterator[Speaker]:
    """A bare client with an identity's credentials, for whatever its holder may try."""
    speaker = Speaker()
    prefix = inbox(identity.name) if identity.description.role == "agent" else "_INBOX"
    given = {**identity.options(), "inbox_prefix": prefix, **options}
    speaker.client = await nats.connect(server.url, allow_reconnect=False, error_cb=speaker.on_error, **given)
    try:
        yield speaker
    finally:
        await speaker.client.close()
