"""How a group stands: what its members amount to, by subgroup and by lane, and the worst of them.

All of it is computed from counts by state, so it costs as much as there are subgroups and states, however many
members there are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from stead.controller.view.reading import View, operation_of
from stead.controller.view.things import Operation, Resource
from stead.lifecycle import aggregate
from stead.lifecycle.rows import StateClass

MEMBER = "vm"
"""What groups have that are counted here."""

NONE = "None"
"""Of a target: there is none."""

BAD = ("Failed", "Undefined")
"""What members should not be in, the worst first."""


@dataclass(frozen=True, slots=True)
class Part:
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    lane: str
    text: str
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Worst:
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime
    says: str


@dataclass(frozen=True, slots=True)
class Standing:
    """How a group stands."""

    resource: Resource
    text: str
    """`(Partial-){Status}:{Count} (R:{Running}/{Total})`."""
    counts: Mapping[str, int]
    """By JSON name, those of all states."""
    settled: bool
    """No member is on its way."""
    target_action: str
    target_status: str
    operation: Operation | None
    groups: tuple[Part, ...]
    lanes: tuple[Part, ...]
    worst: Worst | None


async def standing(view: View, path: str) -> Standing | None:
    """How the group at a path stands; None where there is no group."""
    found = await view.store.standing(path, MEMBER)
    member = view.kinds.get(view.kinds[found.row.kind].members) if found is not None else None
    if found is None or member is None or member.kind != MEMBER:
        return None
    row = found.row
    gone = {state.name for state in member.states if state.cls is StateClass.ABSENT}
    order = tuple(view.kinds["mci"].order)
    all_: Counter[str] = Counter()
    groups: dict[str, Counter[str]] = {}
    lanes: dict[str, str] = {}
    for count in found.counts:
        if count.state in gone:
            continue
        if count.path == path:
            all_[count.state] += count.members
            continue
        groups.setdefault(count.path, Counter())[count.state] += count.members
        lanes[count.path] = count.lane
    by_lane: dict[str, Counter[str]] = {}
    for name, counts in groups.items():
        by_lane.setdefault(lanes[name], Counter()).update(counts)
    op = row.snapshot.operation
    shown = view.shown(row)
    return Standing(
        resource=shown,
        text=aggregate.status_text(all_, order),
        counts=aggregate.status_count(all_, tuple(s.name for s in member.states if s.name not in gone)),
        settled=op is None and aggregate.is_settled(member, all_),
        target_action=op.action.capitalize() if op is not None else NONE,
        target_status=shown.operation.aims_at if shown.operation is not None else NONE,
        operation=operation_of(row, found.operation),
        groups=tuple(Part(name, lanes[name], aggregate.status_text(c, order), c) for name, c in groups.items()),
        lanes=tuple(Part(n, n, aggregate.status_text(c, order), c) for n, c in sorted(by_lane.items()) if n),
        worst=await _worst(view, path, member.kind) if any(all_[state] for state in BAD) else None,
    )


async def _worst(view: View, path: str, kind: str) -> Worst | None:
    record = await view.store.worst_member(kind, path, BAD[0])
    return Worst(**record) if record is not None else None
