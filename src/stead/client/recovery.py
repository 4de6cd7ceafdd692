"""The part of the client that speaks of the hold of a restored cell."""

from __future__ import annotations

from stead.client.models import Hold
from stead.client.transport import Transport


class RecoveryClient:
    """The hold of a restored cell."""

    _transport: Transport

    async def hold(self) -> Hold:
        """Whether the cell is held after a restore."""
        return await self._transport.send(Hold, "GET", f"{self._transport.cell}/recovery")

    async def release_hold(self, path: str = "/") -> Hold:
        """Let a restored cell act at a path and below it; `/`: everywhere."""
        return await self._transport.send(
            Hold, "POST", f"{self._transport.cell}/recovery/release", query={"path": path}
        )
