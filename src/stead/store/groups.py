"""Groups: their members as sets, counted by state and by decision class."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from stead.store.resource_row import Row, row_of
from stead.store.statements import StorePart
from stead.store.summary import ResourceSummary, summary_of

MAX_PARTS = 1000
"""Parts of something that are read at a time."""


class StateCount(NamedTuple):
    """Members of a group in one state."""

    path: str
    state: str
    members: int
    lane: str
    """Of the group; empty where it has none."""


class GroupMembers(NamedTuple):
    """A group and all that is known of its members as sets."""

    row: Row
    operation: Mapping[str, Any] | None
    """What is under way on it, with how far it has come."""
    acts_at: str
    """Where nothing is: the path of what it is part of, or of what is in it, on which something is under way."""
    counts: Sequence[StateCount]


class Groups(StorePart):
    """Groups, with members counted by state and by class."""

    async def count_classes(self, kind: str, below: str, failed: str = "") -> Counter[tuple[ResourceSummary, str]]:
        """The members of a group, counted by class and lane: a summary of each class, without ids of its own.

        With `failed`, only those that an operation asked and that did not do it.
        """
        rows = await self._sql.fetch("count_classes", kind, below, UUID(failed) if failed else None)
        return Counter({(summary_of(r), r["lane"]): r["members"] for r in rows})

    async def count_members(self, path: str, kind: str) -> Mapping[str, Any] | None:
        """How many members of a kind a group has in which state, and how its operation stands."""
        return await self._sql.record("count_members", path, kind)

    async def read_counts(self, paths: Sequence[str], kind: str) -> dict[str, dict[str, int]]:
        """By path, how many resources of a kind are below it in which state."""
        found: dict[str, dict[str, int]] = {path: {} for path in paths}
        for record in await self._sql.fetch("read_counts", list(paths), kind):
            found[record["path"]][record["state"]] = record["members"]
        return found

    async def read_numbers(self, path: str, nth: int) -> tuple[int, int, int]:
        """The VMs of a subgroup by their numbers: how many there are, the last, and the one so far from the end."""
        (record,) = await self._sql.fetch("read_member_numbers", "vm", path, nth)
        return record["members"], record["last"], record["nth"] or 0

    async def read_status(self, path: str, kind: str) -> GroupMembers | None:
        """A group, what is under way on it, and how many members of a kind are in which state, in it and below it."""
        rows = await self._sql.fetch("read_group_status", path, kind)
        if not rows:
            return None
        record = rows[0]
        counts = [_count(*count) for count in record["counts"]]
        return GroupMembers(row_of(record), record["under_way"], record["acts_at"] or "", counts)

    async def find_worst_member(self, kind: str, below: str, first: str) -> Mapping[str, Any] | None:
        """A member in a bad state, `first` before any other, with the last error told of it."""
        return await self._sql.record("find_worst_member", kind, below, first)

    async def read_parts(self, path: str, kind: str, states: Sequence[str], *, back: bool) -> list[Mapping[str, Any]]:
        """What is below a path and at work or in one of the states; `back`: what was brought there with it."""
        return [dict(r) for r in await self._sql.fetch("list_parts", path, kind, list(states), back, MAX_PARTS)]

    async def read_expansion(self, operation: str) -> Mapping[str, Any] | None:
        """What an operation still asks of the members of its group."""
        return await self._sql.record("read_expansion", UUID(operation))

    async def list_working_members(self, operation: str, kind: str, below: str, after: str, limit: int) -> list[str]:
        """Members of a group on which an operation is under way, from after one on."""
        rows = await self._sql.fetch("list_busy_members", kind, below, after, UUID(operation), limit)
        return [r["path"] for r in rows]

    async def list_failed_members(self, operation: str, after: str, limit: int) -> list[str]:
        """Members that an operation asked and that did not do it, from after one on."""
        return [r["path"] for r in await self._sql.fetch("list_failed_members", UUID(operation), after, limit)]

    async def list_unfinished(self) -> Mapping[str, list[str]]:
        """Operations whose members were not all asked, and groups whose last member was not counted."""
        (record,) = await self._sql.fetch("list_unfinished_groups")
        return {"expanding": [str(id) for id in record["expanding"]], "counted": record["counted"]}

    async def list_idle(self, paths: Sequence[str], members: Mapping[str, str]) -> list[Mapping[str, Any]]:
        """Of some paths, the groups that nothing is done to, with how many members are in which state.

        `members` has the kinds of groups, each with that of its members.
        """
        found = await self._sql.fetch("list_idle_groups", list(paths), list(members), list(members.values()))
        return [dict(r) for r in found]

    async def list_stray_subgroups(self, limit: int) -> list[str]:
        """Subgroups of infrastructures that are no more."""
        return [r["path"] for r in await self._sql.fetch("list_stray_subgroups", limit)]


def _count(path: str, state: str, members: int, provider: str | None, region: str | None) -> StateCount:
    return StateCount(path, state, members, f"{provider}.{region}" if provider and region else "")
