"""Judges the history of a run. It knows nothing of how the run went, only what it left behind.

Each rule is a function from a history to sentences, one for each thing that must not be.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from stead.catalog import KINDS
from stead.lifecycle.decision import Outcome
from stead.lifecycle.rows import ORIGIN, Aggregation, StateClass
from tests.chaos import groups, hypervisors, slots, truth, walks
from tests.chaos.history import Ended, History, Resource
from tests.chaos.load import Asked

Rule = Callable[[History], Iterator[str]]

OURS = "anonymous"
"""Who asks over the interface."""

OF_DISKS = {
    ("assign", "add-disk"),
    ("attach", "attach-disk"),
    ("restore-with-machine", "attach-disk"),
    ("detach", "detach-disk"),
    ("destroy", "detach-disk"),
}
"""What is asked of a disk, and the operation of its machine that does it."""

EXPIRY = "expiry"
"""The timer of what lies in a recycle bin."""


@dataclass(frozen=True)
class Verdict:
    """What was found."""

    lost: list[str] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    liveness: list[str] = field(default_factory=list)
    """What did not go on for some time though nothing was in its way."""
    drift: list[str] = field(default_factory=list)
    """Of the violations, those that a later look will mend."""

    @property
    def clean(self) -> bool:
        return not self.lost and not self.violations and not self.liveness

    @property
    def final(self) -> bool:
        """Whether time will mend nothing of it."""
        return (not self.lost and not self.violations) or len(self.drift) < len(self.violations)


def judge(history: History, calm: bool = False) -> Verdict:
    """All that is wrong. In a `calm` run only controllers and database were disturbed, and more must hold."""
    rules = [*RULES, certain] if calm else RULES
    drift = [says for rule in MENDED for says in rule(history)]
    violations = [says for rule in rules for says in rule(history)]
    return Verdict(list(lost(history)), violations + drift, drift=drift)


def lost(history: History) -> Iterator[str]:
    """Operations that were let in and have not ended, known to the one who asked or not."""
    ended = {op.id for op in history.ended}
    running = {str(op["id"]): op for op in history.running}
    asked = {one.operation: one for one in history.accepted}
    for id in asked.keys() - ended - running.keys():
        yield f"{_asked(asked[id])} was let in as {id}, and nobody knows of it"
    rows = {resource.path: resource for resource in history.resources}
    orders = {order["id"]: order for order in history.orders}
    for id, op in running.items():
        row = rows.get(op["path"])
        told: Mapping[str, Any] = {} if row is None else {"state": row.state, **row.busy}
        order = orders.get(told.get("order", 0), "none")
        if row is not None and KINDS[row.kind].members:
            told = {**told, "members": {name: op[name] for name in ("total", "remaining", "failed", "expanded")}}
        yield f"{op['action']} of {op['path']} ({id}) has not ended: {dict(told)}, order: {order}"


def left(history: History) -> Iterator[str]:
    """When all has ended, nothing is left of it."""
    running = {str(op["id"]) for op in history.running}
    there = {resource.path for resource in history.resources}
    for claim in history.claims:
        if claim.get("used_by"):
            if claim["used_by"] not in there:
                yield f"{claim['path']} is in use by {claim['used_by']}, which is gone"
        elif claim["operation"] not in running:
            yield f"a claim on {claim['path']} is left of operation {claim['operation']}"
    for order in history.orders:
        if order["operation"] not in running:
            yield f"an order is left: {order['verb']} {order['id']} on {order['lane']}"
    for asking in history.expansions:
        if asking["operation"] not in running:
            yield f"members of {asking['path']} are still to be asked for operation {asking['operation']}"
    for resource in history.resources:
        if resource.busy and resource.busy.get("operation") not in running and not _lies(resource):
            yield f"{resource.path} is {resource.state} and has no operation, yet: {dict(resource.busy)}"
        elif KINDS[resource.kind].state(resource.state).cls is StateClass.TRANSITIONAL and not resource.busy:
            yield f"{resource.path} is {resource.state}, and nothing goes on about it"


def ends(history: History) -> Iterator[str]:
    """An operation ends once, with an outcome, as what it was asked for, and where its outcome says."""
    seen: set[str] = set()
    by_id = {op.id: op for op in history.ended}
    lasts = {(line.operation, line.path): line for line in history.journal if not line.rejections}
    firsts = {(line.operation, line.path): line for line in reversed(history.journal) if not line.rejections}
    running = {str(op["id"]) for op in history.running}
    for op in history.ended:
        if op.id in seen or op.id in running:
            yield f"{op.action} of {op.path} ({op.id}) has ended twice, or runs on"
        seen.add(op.id)
        if op.outcome not in set(Outcome):
            yield f"{op.action} of {op.path} ({op.id}) ended as {op.outcome!r}, which is no outcome"
        last, first = lasts.get((op.id, op.path)), firsts.get((op.id, op.path))
        wanted = _wanted(op, first.source if first is not None else "")
        if op.outcome == Outcome.SUCCEEDED and last is not None and wanted and last.target != wanted:
            yield f"{op.action} of {op.path} ({op.id}) is done, and led to {last.target}, not {wanted}"
    for one in history.accepted:
        found = by_id.get(one.operation)
        if found is not None and (found.path, found.action) != (one.path, one.action) and not _joins(one, found):
            yield f"{_asked(one)} was let in as {one.operation}, which was {found.action} of {found.path}"


def keys(history: History) -> Iterator[str]:
    """Every request came with a key, and began one operation at most. What an operation began is under that one."""
    begun = set(history.keys.values())
    for op in history.ended:
        if op.principal == OURS and op.id not in begun and op.under not in begun:
            yield f"{op.action} of {op.path} ({op.id}) was begun by a request that had begun another"


def overlaps(history: History) -> Iterator[str]:
    """No two operations had claims that conflict: on one path, or on a path and one above it, unless that one came
    later and leaves out what is claimed below.

    An operation begins, at the latest, when its first line is written, and has not ended before the transaction began
    that ends it; whoever follows finds that one committed. So not a moment may be shared. Only beside one that is
    hidden another may be begun, to wait for it; but none that is hidden beside another.
    """
    begun = {line.operation: line.at for line in reversed(history.journal) if not line.rejections}
    by_path: defaultdict[str, list[tuple[float, Ended]]] = defaultdict(list)
    for op in history.ended:
        if walks.nobodys(op.kind, op.action):
            continue
        by_path[op.path].append((begun.get(op.id, op.created_at), op))
    for path, ops in by_path.items():
        for (_, one), (then, other) in _in_turn(ops):
            if then < one.ended_at:
                yield f"{_op(other)} was begun while {_op(one)} was under way"
        for above in walks.ancestors(path):
            for since, one in by_path.get(above, ()):
                for then, other in ops:
                    if then < since and walks.leaves_out(one.kind, one.action):
                        continue
                    if then < one.ended_at and since < other.ended_at:
                        yield f"{_op(other)} was under way beside {_op(one)}, which is above it"


def _in_turn(ops: list[tuple[float, Ended]]) -> Iterator[tuple[tuple[float, Ended], tuple[float, Ended]]]:
    """Operations on one path, each with one that was begun next after it and must not have met it."""
    ordered = sorted(ops, key=lambda pair: pair[0])
    yield from pairwise(pair for pair in ordered if not walks.unseen(pair[1].kind, pair[1].action))
    for before, after in pairwise(ordered):
        if walks.unseen(after[1].kind, after[1].action):
            yield before, after


def certain(history: History) -> Iterator[str]:
    """Where agents, bus and cloud are well, what an agent reports arrives, so every end is known."""
    for op in history.ended:
        if op.outcome == Outcome.UNKNOWN:
            yield f"{_op(op)} ended with nobody knowing how, though its agent was there to say"


RULES: list[Rule] = [
    left,
    ends,
    keys,
    overlaps,
    walks.positions,
    walks.walks,
    walks.requests,
    walks.interleaved,
    truth.twice,
    truth.reboots,
    truth.words,
    groups.done_by_all,
    slots.members,
    slots.regions,
    hypervisors.runs_twice,
]

MENDED: list[Rule] = [truth.orphans, truth.beliefs, truth.strict, hypervisors.believed]
"""What drifted apart, somebody finds who looks; from time to time somebody does."""


def _wanted(op: Ended, origin: str) -> str:
    """Where success leads; empty where that is no state: wherever most members of a group are, or nowhere else."""
    if KINDS[op.kind].aggregation is Aggregation.DOMINANT or walks.unseen(op.kind, op.action):
        return ""
    action = KINDS[op.kind].action(op.action)
    assert action is not None
    return origin if action.target == ORIGIN else action.target


def _joins(one: Asked, found: Ended) -> bool:
    """Whether it asked of a member what its group was about to do, or of a disk what its machine does with it."""
    if found.disk:
        return one.path == found.disk and (one.action, found.action) in OF_DISKS
    action = KINDS[found.kind].action(found.action)
    return one.path.startswith(f"{found.path}/") and action is not None and action.member_action == one.action


def _lies(resource: Resource) -> bool:
    """Whether it is at rest until its time is over, as in a recycle bin."""
    waits = set(resource.busy.get("timers", ())) | (resource.busy.keys() - {"timers", "condition"})
    return waits == {EXPIRY} and KINDS[resource.kind].state(resource.state).expiry is not None


def _asked(one: Asked) -> str:
    return f"{one.action} of {one.path}"


def _op(op: Ended) -> str:
    return f"{op.action} of {op.path} ({op.id})"
