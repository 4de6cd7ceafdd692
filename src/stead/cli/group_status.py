"""The status of a group, for people: a tree that folds subgroups alike, and bars of the operation in progress."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from stead.cli.listing import printable
from stead.cli.server_commands import clock
from stead.client import GroupStatus, GroupStatusPart, ObservedGroupStatus

FEW = 3
"""So many that are alike are shown one by one."""

BAR = 20
"""Characters of a bar."""

DEAD = ("Failed", "Undefined", "Terminated")
"""Members in these are not waited for."""


EMPTY = "Empty"
"""What a group without members amounts to."""

BARE = ("Preparing", "Prepared", "Creating", "Failed")
"""What an infrastructure may be in before it has a VM, or instead of ever having one."""

HELD, HOLD = "held", "hold"
"""The phase of an operation that waits for continue or withdraw, and the timer that ends that."""


def is_bare(standing: GroupStatus) -> bool:
    """Whether a group has no members, and a state of its own that says more than that."""
    return standing.summary == EMPTY and standing.resource.state in BARE


def text_of(standing: GroupStatus, failure: str = "") -> str:
    """How a group stands; of one without members its own state, until when it is held, and why it failed."""
    if not is_bare(standing):
        return standing.summary
    resource = standing.resource
    if resource.operation is not None and resource.operation.phase == HELD:
        until = resource.timers.get(HOLD)
        return f"{resource.state}, held until {clock(until)}" if until is not None else f"{resource.state}, held"
    return f"{resource.state}: {printable(failure)}" if failure else resource.state


def tree(standing: GroupStatus, *, unfold: bool = False, failure: str = "") -> list[str]:
    """The lines of a group: itself, its subgroups, and the member that is worst off."""
    path = standing.resource.path
    lines = [f"{path.lstrip('/')}  {text_of(standing, failure)}"]
    if standing.operation is not None:
        lines[0] += f"  [{in_progress(standing)}]"
    rows = [_row(path, alike) for alike in _alike(standing.groups, unfold)]
    widths = [max((len(row[i]) for row in rows), default=0) for i in range(3)]
    for place, row in enumerate(rows):
        edge = "└─" if place == len(rows) - 1 else "├─"
        cells = [f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)]
        lines.append(f"{edge} {'  '.join(cells)}".rstrip())
    if standing.worst is not None:
        worst = standing.worst
        says = f": {printable(worst.message)}" if worst.message else ""
        lines.append(f"worst: {worst.path.lstrip('/')} is {worst.state} since {clock(worst.since)}{says}")
    return lines + (observed(standing.observed) if standing.observed is not None else [])


WHY = {
    "still": "changes seldom",
    "final": "cannot change by itself",
    "moving": "an operation is in progress",
    "no-agent": "no agent answered",
    "no-provider": "the provider did not answer",
    "unasked": "on no lane",
}
"""Why members were not observed, in words."""


def observed(found: ObservedGroupStatus) -> list[str]:
    """What a refresh has observed, and since when the rest was not."""
    calls = f", in {found.calls:,} call{'s' if found.calls != 1 else ''} ({found.calls_saved:,} saved)"
    lines = [f"observed now: {found.members:,}{calls if found.calls else ''}"]
    for left in found.unobserved:
        last = f"last observed {clock(left.oldest)} or later" if left.oldest is not None else "not yet observed"
        lines.append(f"not observed: {left.members:,} {left.state}, {last} ({WHY.get(left.reason, left.reason)})")
    return lines


def in_progress(standing: GroupStatus) -> str:
    """What is being done, how far it has come, and how many orders that takes."""
    op = standing.operation
    assert op is not None
    done = f", {op.total - op.remaining:,} of {op.total:,}" if op.total > 1 else ""
    says = f", {printable(op.message)}" if op.message else ""
    return f"{op.action} to {standing.target_status}{done}{saved(op.total, op.orders)}{says}"


def saved(members: int, orders: int) -> str:
    """How many orders it takes, where that is fewer than one for each member.

    An order is one call of its action to the provider, beside those that observe.
    """
    return f", in {orders:,} order{'s' if orders > 1 else ''} instead of {members:,}" if 0 < orders < members else ""


def bars(standing: GroupStatus) -> list[str]:
    """How far an action has come, by provider and region; nothing where no operation is in progress."""
    rows = []
    if standing.operation is None:
        return []
    for part in standing.lanes:
        total = sum(part.counts.values())
        there = sum(part.counts.get(state, 0) for state in {standing.target_status, *DEAD})
        full = BAR * there // total if total else BAR
        bad = sum(part.counts.get(state, 0) for state in DEAD[:2])
        trouble = f"  {bad:,} unhealthy" if bad else ""
        rows.append((part.name, f"{'█' * full}{'░' * (BAR - full)}", f"{there:,}/{total:,}{trouble}"))
    width = max((len(name) for name, *_ in rows), default=0)
    return [f"  {name:<{width}}  {bar}  {count}" for name, bar, count in rows]


def _alike(groups: Sequence[GroupStatusPart], unfold: bool) -> Iterator[Sequence[GroupStatusPart]]:
    """Subgroups at one provider whose members are all in the same states, together if there are more than a few."""

    def likeness(part: GroupStatusPart) -> tuple[str, tuple[str, ...]]:
        return part.lane.partition(".")[0], tuple(sorted(part.counts))

    for _, found in groupby(sorted(groups, key=lambda part: (likeness(part), part.name)), likeness):
        alike = list(found)
        if unfold or len(alike) <= FEW:
            yield from ([part] for part in alike)
        else:
            yield alike


def _row(path: str, alike: Sequence[GroupStatusPart]) -> tuple[str, str, str]:
    names = [part.name.removeprefix(f"{path}/") for part in alike]
    if len(alike) == 1:
        return names[0], alike[0].lane, alike[0].summary
    lanes = {part.lane for part in alike}
    where = alike[0].lane if len(lanes) == 1 else f"{alike[0].lane.partition('.')[0]}, {len(lanes)} regions"
    states = sorted({state for part in alike for state in part.counts})
    counts = ", ".join(f"{state}:{sum(part.counts.get(state, 0) for part in alike):,}" for state in states)
    return f"{names[0]} … {names[-1]} ({len(alike)} alike)", where, counts
