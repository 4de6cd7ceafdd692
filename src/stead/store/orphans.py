"""Statements about what providers have and nobody owns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.statements import Statements


class Orphans(Statements):
    """What is found and noted."""

    async def note_orphans(self, lane: str, found: Sequence[Mapping[str, Any]]) -> None:
        """What was found on a lane and nobody owns."""
        await self.fetch("note_orphans", lane, [dict(one) for one in found])

    async def forget_orphans(self, told: Mapping[str, float]) -> int:
        """What was found on a lane before its time and not since is no longer there, or somebody's."""
        return len(await self.fetch("forget_orphans", list(told), list(told.values())))

    async def surveyed(self, lanes: Sequence[str], pause: float) -> None:
        """Lanes have told all that they have; nobody needs to ask for that for so many seconds."""
        await self.fetch("surveyed", list(lanes), pause)

    async def orphans(self, lane: str | None, limit: int) -> list[Mapping[str, Any]]:
        """What was found at least twice."""
        return [dict(r) for r in await self.fetch("list_orphans", lane, limit)]

    async def orphan(self, lane: str, token: str) -> Mapping[str, Any] | None:
        """One that was found at least twice."""
        rows = await self.fetch("read_orphan", lane, token)
        return dict(rows[0]) if rows else None

    async def forget_orphan(self, lane: str, token: str) -> None:
        """Somebody owns it now."""
        await self.fetch("forget_orphan", lane, token)
