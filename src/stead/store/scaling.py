"""Scaling policies: their demand, and the instances that they count."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from stead.store.statements import StorePart

ALL = ""
"""Under which the figure of all places together is kept."""


@dataclass(frozen=True, slots=True)
class Scaling:
    """A policy as it is kept, with what it did and what is known of its demand."""

    namespace: str
    name: str
    id: UUID
    policy: Mapping[str, Any]
    changed_by: str
    changed_at: datetime
    acts: Sequence[Mapping[str, Any]]
    deeds: Sequence[Mapping[str, Any]]
    verdict: Mapping[str, Any]
    turn: int
    woken: int
    evaluate_at: datetime | None
    demand: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


class ScalingPolicies(StorePart):
    """Scaling policies and their demand."""

    async def put(
        self,
        namespace: str,
        name: str,
        policy: Mapping[str, Any],
        places: Sequence[str],
        figures: Sequence[str],
        by: str,
    ) -> None:
        """Make a policy, or put another in its place; `figures` are the places of which figures are kept."""
        await self._sql.fetch("put_scaling", namespace, name, dict(policy), by, list(places), list(figures))

    async def read(self, namespace: str, name: str) -> Scaling | None:
        """A policy."""
        rows = await self._sql.fetch("read_scaling", namespace, name)
        return _scaling(rows[0]) if rows else None

    async def read_page(self, namespace: str | None, after: tuple[str, str], limit: int) -> list[Scaling]:
        """Policies in order of namespace and name, from after one on."""
        return [_scaling(r) for r in await self._sql.fetch("list_scaling", namespace, *after, limit)]

    async def remove(self, namespace: str, name: str) -> bool:
        """Take a policy away; whether there was one."""
        return bool(await self._sql.fetch("remove_scaling", namespace, name))

    async def record_demand(
        self, namespace: str, name: str, figures: Sequence[tuple[str, float, float]], now: float, by: str
    ) -> int:
        """Figures: the place, how much, and when that was measured; how many of them were news."""
        places, values, times = [f[0] for f in figures], [f[1] for f in figures], [f[2] for f in figures]
        return len(await self._sql.fetch("record_demand", namespace, name, places, values, times, now, by))

    async def wake(self, most: int) -> tuple[int, int]:
        """Wake the policies that what has moved concerns: how much of the journal was read, how many were woken."""
        rows = await self._sql.fetch("schedule_scaling", most)
        return (rows[0]["read"], rows[0]["woken"]) if rows else (0, 0)

    async def due(self, now: float, limit: int, pause: float) -> list[tuple[str, str]]:
        """Policies to be looked at now; others are not told of them for so many seconds."""
        return [(r["namespace"], r["name"]) for r in await self._sql.fetch("due_scaling", now, limit, pause)]

    async def record_evaluation(
        self,
        read: Scaling,
        acts: Sequence[Mapping[str, Any]],
        deeds: Sequence[Mapping[str, Any]],
        verdict: Mapping[str, Any],
        evaluate_at: float | None,
    ) -> bool:
        """What a policy is about to do, or what it did; False where it was written since it was read."""
        values = [dict(act) for act in acts], [dict(deed) for deed in deeds], dict(verdict), evaluate_at
        return bool(
            await self._sql.fetch("record_evaluation", read.namespace, read.name, read.turn, read.woken, *values)
        )

    async def read_instances(self, places: Sequence[str], name: str) -> list[Mapping[str, Any]]:
        """Instances of a name at some places, with the clusters and sites themselves; a cluster with apps is busy."""
        return [dict(r) for r in await self._sql.fetch("read_scaled_instances", list(places), name)]


def _scaling(record: asyncpg.Record) -> Scaling:
    return Scaling(**dict(record))
