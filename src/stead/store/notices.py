"""Notices that owners of leases get by webhook."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from stead.store.statements import StorePart


class LeaseNotices(StorePart):
    """Notices to owners of leases."""

    async def add_end_notice(self, lease: str, now: float) -> bool:
        """Add the notice that the end of a lease is near; False where it was added before."""
        return bool(await self._sql.fetch("add_end_notice", lease, now))

    async def read_all(self, lease: str) -> list[Mapping[str, Any]]:
        """What was told of a lease."""
        return [dict(r) for r in await self._sql.fetch("list_notices", lease)]

    async def due(self, now: float, limit: int, pause: float) -> list[Mapping[str, Any]]:
        """What is to be told somewhere now; others are not given it for so many seconds."""
        return [dict(r) for r in await self._sql.fetch("due_notices", now, limit, pause)]

    async def record_attempt(self, id: UUID, now: float, error: str, again: float | None) -> None:
        """It has arrived, or not; and when it is tried again."""
        await self._sql.fetch("record_notice_attempt", id, now, error, again)
