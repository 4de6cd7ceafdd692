"""Observations: which resources an agent is to observe next, and which lanes' inventories are due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.resource_row import Row, row_of
from stead.store.statements import StorePart


class Observations(StorePart):
    """Which resources are to be observed, and when each lane's inventory is to be read."""

    async def due(self, limit: int, pause: float) -> list[str]:
        """Stable resources to be observed now; no other caller gets them for so many seconds."""
        return [r["path"] for r in await self._sql.fetch("due_observations", limit, pause)]

    async def list_refreshable(
        self, below: str, after: str, limit: int, still: Sequence[str], pause: float
    ) -> list[str]:
        """Resources at a path and below it that may have changed by themselves; in `still` states, after a pause."""
        return [r["path"] for r in await self._sql.fetch("list_refreshable", below, after, limit, pause, list(still))]

    async def mark_unchanged(self, paths: Sequence[str], pause: float) -> None:
        """Record that resources were observed and had no drift."""
        await self._sql.fetch("mark_unchanged", list(paths), pause)

    async def read_expected(self, asked: Sequence[tuple[str, str]], limit: int) -> list[list[Row]]:
        """For each lane and path, the resources on that lane after that path, in order; without claims on them."""
        lanes, after = zip(*asked, strict=True)
        pages: list[list[Row]] = [[] for _ in asked]
        for record in await self._sql.fetch("read_expected_inventory", list(lanes), list(after), limit):
            pages[record["number"] - 1].append(row_of(record))
        return pages

    async def due_inventory(self, pause: float) -> str | None:
        """A lane whose inventory is due; no other caller gets it for so many seconds."""
        rows = await self._sql.fetch("due_inventory", pause)
        return rows[0]["name"] if rows else None

    async def record_inventory(self, lanes: Sequence[str], pause: float) -> None:
        """Inventories of lanes were received; the next ones are due in so many seconds."""
        await self._sql.fetch("record_inventory", list(lanes), pause)

    async def list_unobserved(
        self, kind: str, below: str, seen: Sequence[str], unseen: Mapping[str, str]
    ) -> list[Mapping[str, Any]]:
        """Of resources of a kind below a path, those apart that were `seen`: how many in which state, and, of those
        that could not be seen, why; with when the longest ago was observed."""
        rows = await self._sql.fetch("list_unobserved", kind, below, list(seen), list(unseen), list(unseen.values()))
        return [dict(r) for r in rows]

    async def count_calls(self, calls: int, members: int) -> None:
        """Providers were asked so many times for so many resources, those among them that need not be asked about."""
        await self._sql.fetch("record_observations", calls, members)
