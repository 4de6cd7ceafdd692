"""The cell examined, and its metrics, as a server answers with them."""

from __future__ import annotations

from stead.client.models import Examination
from stead.client.transport import Transport


class Doctors:
    """How the cell itself is."""

    _transport: Transport

    async def examine(self) -> Examination:
        """Database, bus, controller, work, agents: how each is, and what to do. For admins."""
        return await self._transport.send(Examination, "GET", "/v1/doctor")

    async def metrics(self) -> str:
        """What the server and its controller count, as Prometheus reads it."""
        return (await self._transport.content("GET", "/metrics")).decode()
