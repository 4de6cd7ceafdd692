"""Members that are to be made: which ones, and what each of them is.

A plan follows from what a group is to be and from what was asked, so whoever carries an operation on makes the same
one; how far it has come is a number. A subgroup's VMs are counted from 1 on, and their numbers are their names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid5

from stead.catalog import infrastructure
from stead.controller.execution.executor import TransitionExecutor
from stead.lifecycle.definition import Lifecycle
from stead.store import Row

LAUNCH_BATCH = 20
"""VMs that a provider may be asked for in one call, where it makes many at once."""

TAKEN = ("provider", "region", "spec", "image", "labels")
"""What a VM has of its subgroup's spec."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Members of one subgroup that are to be made."""

    group: str
    first: int
    count: int
    lane: str
    spec: Mapping[str, Any]


def segments(row: Row, wish: Mapping[str, Any]) -> list[Segment]:
    """What is to be made of a group, for an operation on it."""
    if row.kind == "subgroup":
        plan = wish["plan"]
        return [_segment(row.path, row.spec, plan["first"], plan["count"])]
    wanted = infrastructure.parts(infrastructure.read(row.spec))
    return [_segment(f"{row.path}/{part.name}", part.written(), 1, part.size) for part in wanted]


def _segment(path: str, spec: Mapping[str, Any], first: int, count: int) -> Segment:
    return Segment(path, first, count, f"{spec['provider']}.{spec['region']}", spec)


class MemberPlans:
    """Makes the rows of members that are not there yet."""

    def __init__(self, executor: TransitionExecutor) -> None:
        self.executor = executor

    async def some(
        self, operation: str, row: Row, wish: Mapping[str, Any], member: Lifecycle, after: int, limit: int
    ) -> tuple[list[Row], int]:
        """The next members that are to be made, and how many there are in all."""
        wanted = segments(row, wish)
        picked = list(_picked(wanted, after, limit))
        shared = await self._shared(row.path.split("/")[1], [segment for segment, _ in picked])
        snapshot = self.executor.first(member.kind)
        rows = []
        for segment, offset in picked:
            token, launch = launch_of(operation, segment, offset)
            spec = {name: segment.spec[name] for name in TAKEN if name in segment.spec}
            spec |= {"launch": launch} | shared[segment.group]
            path = f"{segment.group}/{segment.first + offset}"
            rows.append(Row(path, member.kind, snapshot, segment.lane, token, spec))
        return rows, sum(segment.count for segment in wanted)

    async def _shared(self, namespace: str, wanted: Sequence[Segment]) -> dict[str, dict[str, Any]]:
        """By group, what the provider said of what its VMs share."""
        groups = {segment.group: infrastructure.places(namespace, segment.spec) for segment in wanted}
        rows = await self.executor.store.resources.read_many(
            list({path for places in groups.values() for path in places.values()})
        )
        found = {
            group: {kind: dict(rows[path].facts or {}) for kind, path in places.items() if path in rows}
            for group, places in groups.items()
        }
        return {group: {"shared": facts} if facts else {} for group, facts in found.items()}


def _picked(wanted: Sequence[Segment], after: int, limit: int) -> Iterator[tuple[Segment, int]]:
    """Members from the one with that number on, each with its place in its segment."""
    before = 0
    for segment in wanted:
        start, end = max(after - before, 0), min(after + limit - before, segment.count)
        yield from ((segment, offset) for offset in range(start, end))
        before += segment.count


def launch_of(operation: str, segment: Segment, offset: int) -> tuple[UUID, dict[str, Any]]:
    """The token of a member, and the launch that it is part of."""
    first = offset - offset % LAUNCH_BATCH
    token = uuid5(UUID(operation), f"{segment.group}/{segment.first + first}")
    index, count = offset - first, min(LAUNCH_BATCH, segment.count - first)
    return uuid5(token, str(index)), {"token": str(token), "index": index, "count": count, "path": segment.group}
