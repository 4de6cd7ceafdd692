"""Orphans: objects that providers have and no resource owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.statements import StorePart


class Orphans(StorePart):
    """Objects of providers that no resource owns."""

    async def record(self, lane: str, found: Sequence[Mapping[str, Any]]) -> None:
        """Record objects that were found on a lane and have no resource."""
        await self._sql.fetch("record_orphans", lane, [dict(one) for one in found])

    async def remove_unseen(self, told: Mapping[str, float]) -> int:
        """Remove orphans of lanes that were not found since a time; how many."""
        return len(await self._sql.fetch("delete_unseen_orphans", list(told), list(told.values())))

    async def read_page(self, lane: str | None, limit: int) -> list[Mapping[str, Any]]:
        """What was found at least twice."""
        return [dict(r) for r in await self._sql.fetch("list_orphans", lane, limit)]

    async def read(self, lane: str, token: str) -> Mapping[str, Any] | None:
        """One that was found at least twice."""
        return await self._sql.record("read_orphan", lane, token)

    async def remove(self, lane: str, token: str) -> None:
        """Remove an orphan, which a resource owns now."""
        await self._sql.fetch("delete_orphan", lane, token)
