"""The cell examined, and its metrics, as a server answers with them."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from stead.client.transport import Transport


class Finding(Struct, frozen=True, kw_only=True):
    """What was looked at."""

    what: str
    grade: str
    """`ok`; `warn`: it works, and will be trouble; `bad`: it is trouble."""
    says: str
    do: str = ""
    """What would help."""


class Examination(Struct, frozen=True, kw_only=True):
    """How a cell is."""

    at: datetime
    version: str
    findings: tuple[Finding, ...]


class Doctors:
    """How the cell itself is."""

    _transport: Transport

    async def examine(self) -> Examination:
        """Database, bus, controller, work, agents: how each is, and what to do. For admins."""
        return await self._transport.send(Examination, "GET", "/v1/doctor")

    async def metrics(self) -> str:
        """What the server and its controller count, as Prometheus reads it."""
        return (await self._transport.content("GET", "/metrics")).decode()
