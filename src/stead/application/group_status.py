"""How a group stands: what its members amount to, by subgroup and by lane, and the worst of them.

All of it is computed from counts by state, so it costs as much as there are subgroups and states, however many
members there are. All of one answer is read in one snapshot of the database, counts and what was not counted yet, so
its parts agree, and it is as new as the last commit.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

from stead.application.models import Operation, Resource, RunningOperation
from stead.application.reader import Reader, operation_of, running_of
from stead.controller.observation.observer import ObservedGroupStatus
from stead.lifecycle import aggregate
from stead.lifecycle.rows import StateClass
from stead.schema import HIDDEN, Model
from stead.store import Store
from stead.store.groups import GroupMembers as Counted

MEMBER = "vm"
"""What groups have that are counted here."""

NONE = "None"
"""Of a target: there is none."""

BAD = ("Failed", "Undefined")
"""What members should not be in, the worst first."""


@dataclass(frozen=True, slots=True)
class GroupStatusPart(Model):
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    """The path of the subgroup, or the lane."""
    lane: str
    summary: str
    counts: Mapping[str, int]
    """By state."""


@dataclass(frozen=True, slots=True)
class UnhealthyMember(Model):
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime
    message: str


@dataclass(frozen=True, slots=True)
class GroupStatus(Model):
    """How a group stands."""

    resource: Resource
    summary: str
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`; `Empty` without members."""
    counts: Mapping[str, int]
    """`countTotal`, and one for each state."""
    stable: bool
    """Nothing is under way, and no member is on its way."""
    target_action: str
    """What is being done to it, to what it is part of, or to something in it; `None` where nothing is."""
    target_status: str
    acting: Annotated[RunningOperation | None, HIDDEN]
    """What is under way on it; or on what it is part of; or on something in it."""
    operation: Operation | None
    """What is under way, with how far it has come."""
    groups: tuple[GroupStatusPart, ...]
    """By subgroup."""
    lanes: tuple[GroupStatusPart, ...]
    """By provider and region."""
    worst: UnhealthyMember | None
    """The first member that failed or whose state is unknown."""
    observed: ObservedGroupStatus | None = None
    """What was observed just before this answer, with `refresh`; null without."""


@dataclass(frozen=True, slots=True)
class GroupView:
    """A group and what is in it, all of one moment."""

    standing: GroupStatus
    groups: tuple[Resource, ...]
    """The groups in it, in order of path; none where they were not asked for."""
    members: tuple[Resource, ...]
    """In order of path, as many as were asked for."""
    errors: Mapping[str, str]
    """By path, the last error of the group and of members in a bad state, where there was one."""


PAGE = 1000
"""Resources that are read in one go."""


async def standing(reader: Reader, path: str) -> GroupStatus | None:
    """How the group at a path stands; None where there is no group."""
    found = await picture(reader, path)
    return found.standing if found is not None else None


async def picture(reader: Reader, path: str, limit: int = 0, groups: str = "") -> GroupView | None:
    """The group at a path with so many of its members, and with the groups of a kind that are in it."""
    async with reader.store.snapshot() as store:
        found = await store.groups.read_status(path, MEMBER)
        if found is None or reader.kinds[found.row.kind].members != MEMBER:
            return None
        acts = (
            found.row if not found.acts_at else (await store.resources.read_many([found.acts_at])).get(found.acts_at)
        )
        acting = running_of(reader.kinds, acts) if acts is not None else None
        shown = _standing(reader, found, acting)
        if any(shown.counts.get(f"count{state}") for state in BAD):
            shown = replace(shown, worst=await _worst(store, path, MEMBER))
        members = await _below(reader, store, MEMBER, path, limit)
        bad = [one.path for one in (shown.resource, *members) if one.state in BAD]
        return GroupView(
            shown,
            tuple(await _below(reader, store, groups, path, sys.maxsize) if groups else ()),
            tuple(members),
            await store.journal.read_last_errors(bad),
        )


async def _below(reader: Reader, store: Store, kind: str, path: str, limit: int) -> list[Resource]:
    """Resources of a kind below a path, page by page, until there are so many."""
    shown: list[Resource] = []
    after = ""
    while (size := min(PAGE, limit - len(shown))) > 0:
        paths = await store.resources.list_paths(kind, f"{path}/", after, size)
        rows = await store.resources.read_many(paths)
        shown += [reader.shown(rows[path]) for path in paths]
        if len(paths) < size:
            break
        after = paths[-1]
    return shown


def _standing(reader: Reader, found: Counted, acting: RunningOperation | None) -> GroupStatus:
    row, member = found.row, reader.kinds[MEMBER]
    gone = {state.name for state in member.states if state.cls is StateClass.ABSENT}
    order = tuple(reader.kinds["mci"].aggregation_order)
    all_: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {}
    lanes: dict[str, str] = {}
    for count in found.counts:
        if count.state in gone:
            continue
        if count.path == row.path:
            all_[count.state] += count.members
            continue
        groups.setdefault(count.path, Counter())[count.state] += count.members
        lanes[count.path] = count.lane
    by_lane: dict[str, Counter[str]] = {}
    for name, counts in groups.items():
        by_lane.setdefault(lanes[name], Counter()).update(counts)
    return GroupStatus(
        resource=reader.with_members(reader.shown(row), all_),
        summary=aggregate.status_text(all_, order),
        counts=aggregate.status_count(all_, tuple(s.name for s in member.states if s.name not in gone)),
        stable=(row.snapshot.operation is None or row.snapshot.held) and aggregate.is_stable(member, all_),
        target_action=acting.action.capitalize() if acting is not None else NONE,
        target_status=acting.target if acting is not None else NONE,
        acting=acting,
        operation=operation_of(row, found.operation),
        groups=tuple(
            GroupStatusPart(name, lanes[name], aggregate.status_text(c, order), c) for name, c in groups.items()
        ),
        lanes=tuple(
            GroupStatusPart(n, n, aggregate.status_text(c, order), c) for n, c in sorted(by_lane.items()) if n
        ),
        worst=None,
    )


async def _worst(store: Store, path: str, kind: str) -> UnhealthyMember | None:
    record = await store.groups.find_worst_member(kind, path, BAD[0])
    if record is None:
        return None
    return UnhealthyMember(record["path"], record["state"], record["since"], record["says"])
