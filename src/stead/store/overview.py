"""Statements about the cell as a whole, about what lies below a path, and about what an operation did and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from stead.store.statements import Statements

type Within = list[str] | None
"""The paths of some namespaces; None for all there are."""


class Overviews(Statements):
    """What those ask of the store who want to see much at a glance."""

    async def namespaces(self) -> list[str]:
        """The paths of namespaces in which there is something, or was."""
        return [r["path"] for r in await self.fetch("list_namespaces")]

    async def cell_counts(self, within: Within) -> list[tuple[str, str, int]]:
        """Kind, state and number of all resources in the cell, a moment ago at most."""
        return [(r["kind"], r["state"], r["members"]) for r in await self.fetch("count_cell", within)]

    async def bad(self, limit: int, within: Within) -> list[Mapping[str, Any]]:
        """Resources in states that nobody wants them in, in order of path."""
        return [dict(r) for r in await self.fetch("list_bad", limit, [""] if within is None else within)]

    async def working(self, limit: int, within: Within) -> list[Mapping[str, Any]]:
        """Resources that an operation works on, of the so many whose timers are due first."""
        return [dict(r) for r in await self.fetch("list_working", limit, within)]

    async def overview(self, most: int, there: float, within: Within) -> Mapping[str, Any]:
        """What goes on as numbers; nothing is counted beyond `most`."""
        (record,) = await self.fetch("read_overview", most, there, within)
        return dict(record)

    async def gauges(self, most: int, there: float) -> Mapping[str, Any]:
        """What goes on as numbers, for metrics; nothing is counted beyond `most`."""
        (record,) = await self.fetch("read_gauges", most, there)
        return dict(record)

    async def examine(self) -> Mapping[str, Any]:
        """How the database itself is."""
        (record,) = await self.fetch("examine_database")
        return dict(record)

    async def unserved(self, there: float, limit: int) -> list[str]:
        """Lanes with orders that no agent serves who was heard of in so many seconds."""
        return [r["lane"] for r in await self.fetch("unserved_lanes", there, limit)]

    async def trails(self, operations: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """By operation under way, the request that it comes from, where there was one."""
        return {r["id"]: r["origin"] for r in await self.fetch("read_trails", list(operations))}

    async def moves(self, since: datetime) -> dict[int, int]:
        """Moves by second since the epoch, from a time on."""
        return {r["second"]: r["moves"] for r in await self.fetch("count_moves", since)}

    async def has_branches(self, below: str) -> bool:
        """Whether something below a path has something below it."""
        (record,) = await self.fetch("has_branches", below)
        return bool(record["found"])

    async def branches(self, below: str) -> list[Mapping[str, Any]]:
        """What lies directly below a path, each with how many of what kind are below it in which state."""
        return [dict(r) for r in await self.fetch("list_branches", below.rstrip("/"))]

    async def leaves(
        self, below: str, ranks: Mapping[str, int], after: tuple[int, str], limit: int
    ) -> list[Mapping[str, Any]]:
        """Resources below a path that have nothing below them, by the rank of `kind state`, then by name."""
        return [dict(r) for r in await self.fetch("list_leaves", below.rstrip("/"), dict(ranks), *after, limit)]

    async def timeline(
        self, id: UUID, path: str, since: datetime, until: datetime, skip: int, limit: int
    ) -> list[Mapping[str, Any]]:
        """What an operation on a path did to each of its members between two times, the worst and slowest first."""
        return [dict(r) for r in await self.fetch("list_timeline", id, since, until, path, limit, skip)]

    async def error_counts(self, id: UUID, limit: int) -> list[Mapping[str, Any]]:
        """Why members of an operation did not do what was asked, each reason once, the most frequent first."""
        return [dict(r) for r in await self.fetch("count_errors", id, limit)]
