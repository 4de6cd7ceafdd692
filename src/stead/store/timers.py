"""Timers of resources: which are due, and how they are set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stead.store.statements import StorePart
from stead.store.summary import ResourceSummary, summary_of


class Timers(StorePart):
    """Timers of resources."""

    async def due(self, now: float, limit: int) -> list[ResourceSummary]:
        """Resources with a timer that is due."""
        return [summary_of(r) for r in await self._sql.fetch("due_timers", now, limit)]

    async def set(self, timers: Sequence[tuple[ResourceSummary, Mapping[str, float]]]) -> None:
        """Set the timers of resources, each unless it or a timer of it has changed since it was read."""
        ids, versions = [summary.id for summary, _ in timers], [summary.version for summary, _ in timers]
        before = [summary.timers for summary, _ in timers]
        await self._sql.fetch("set_timers", ids, versions, before, [dict(of) for _, of in timers])
