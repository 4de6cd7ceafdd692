"""The part of the client that speaks of the hold of a restored cell."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from stead.client.transport import Transport


class Hold(Struct, frozen=True, kw_only=True):
    """Whether a restored cell is held: it observes, and orders nothing that changes anything."""

    since: datetime | None = None
    """None: it is not held."""
    orders: int = 0
    """Orders that wait for the release."""
    released: tuple[str, ...] = ()
    """Paths at which, and below which, it acts all the same."""


class Recovery:
    """The hold of a restored cell."""

    _transport: Transport

    async def hold(self) -> Hold:
        """Whether the cell is held after a restore."""
        return await self._transport.send(Hold, "GET", "/v1/recovery")

    async def release_hold(self, path: str = "/") -> Hold:
        """Let a restored cell act at a path and below it; `/`: everywhere."""
        return await self._transport.send(Hold, "POST", "/v1/recovery/release", query={"path": path})
