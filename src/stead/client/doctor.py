"""The cell examined, and its metrics, as a server answers with them."""

from __future__ import annotations

from stead.client.models import HealthReport
from stead.client.transport import Transport


class DoctorClient:
    """How the cell itself is."""

    _transport: Transport

    async def examine(self) -> HealthReport:
        """Database, bus, controller, work, agents: how each is, and what to do. For admins."""
        return await self._transport.send(HealthReport, "GET", f"{self._transport.cell}/doctor")

    async def metrics(self) -> str:
        """What the server and its controller count, as Prometheus reads it."""
        return (await self._transport.content("GET", "/metrics")).decode()
