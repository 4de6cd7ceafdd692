"""What a decision does to every resource of one class, in the form the commit function takes.

Nothing in it tells one resource from its likes: operations are the `same` as before, gone (`none`) or `new`, the
fence rises by so much, timers start so many seconds from now. So a decision is turned into a template once, however
many resources it is made for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from stead.lifecycle.decision import ClaimChange, Decision
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import StateClass, Trigger
from stead.lifecycle.snapshot import Operation, Phase, Snapshot
from stead.lifecycle.timers import pending
from stead.store.snapshot_codec import encode_condition

WAITING = "waiting"
"""The timer of an order that waits for room on its lane."""

TAKING = ("take", "beside", "over")
"""How a claim is taken: of the resource, of a place below it by an operation that runs beside others, or of the
resource over the operations below it."""


@dataclass(frozen=True, slots=True)
class OperationStart:
    """An operation to be begun."""

    id: UUID
    action: str
    principal: str
    reason: str = ""
    request: Mapping[str, Any] = field(default_factory=dict)
    key: str = ""
    fingerprint: str = ""
    queue: str = ""
    """It may begin only if no request waits in this queue."""
    waited: bool = False
    """It has waited there itself, and leaves as it begins."""


@dataclass(frozen=True, slots=True)
class JournalNote:
    """What was said, for a line of the journal whose state stays as it is."""

    trigger: str
    detail: str
    actor: str
    cancels: str = ""
    """The operation that is to be cancelled."""


@dataclass(frozen=True, eq=False)
class DecisionTemplate:
    """A decision without the resource it was made for."""

    decision: Decision
    fence_delta: int
    body: Mapping[str, Any]
    start_timers: Mapping[str, int]
    """Timers that start, with the seconds they run."""
    observe_after: int | None
    starts_operation: bool
    respec: str | None
    unchanged: bool
    """All stays as it is."""

    @property
    def takes_claim(self) -> bool:
        """Whether a claim is taken."""
        return self.body["claim"] in TAKING

    def encode(self, at: float, principal: str = "") -> dict[str, Any]:
        """The template as the commit function takes it, at a time."""
        timers = {name: at + after for name, after in self.start_timers.items()}
        observe_at = None if self.observe_after is None else at + self.observe_after
        return {**self.body, "start_timers": timers, "observe_at": observe_at, "principal": principal}


def compile_decision(
    lifecycle: Lifecycle,
    before: Snapshot,
    decision: Decision,
    note: JournalNote | None,
    begin: OperationStart | None,
    new: str,
    exists: bool,
    expand: Mapping[str, Any] | None = None,
) -> DecisionTemplate:
    """The template of a decision. `new` is the id of the operation that may be new; `exists`: there is a record;
    `expand`: what is requested of its members.
    """
    after = decision.after
    known = (_id(after.operation), _id(after.hidden), *(ended.id for ended in decision.ended))
    begins = begin is not None and bool(new) and (new in known or decision.beside)
    respec = _respec(before, after)
    cls = lifecycle.state(after.state).cls
    lines = _lines(before, decision, note, begins)
    closes = _stands(before) and not _stands(after)
    dropped = set(pending(lifecycle, before)) - set(pending(lifecycle, after))
    if closes or decision.orders:
        dropped.add(WAITING)
    body: dict[str, Any] = {
        "kind": lifecycle.kind,
        "state": after.state,
        "condition": encode_condition(after),
        "fence_delta": after.fence.counter - before.fence.counter,
        "operation": _operation_change(before.operation, after.operation),
        "hidden": _operation_change(before.hidden, after.hidden),
        "new": new or None,
        "stop_timers": sorted(dropped),
        "resend": bool(decision.orders and decision.orders[-1].again),
        "journal_lines": lines,
        "unchanged_lines": [] if note is None else [_line(before, note.trigger, note.detail, note.actor, "was")],
        "close_order": closes,
        "take_order": _taken(after) and not _taken(before),
        "claim": _claim(decision),
        "spec": respec,
        "delete_row": cls is StateClass.ABSENT and after.operation is None,
        "is_gone": cls in (StateClass.ABSENT, StateClass.FINAL) and after.operation is None,
        "is_transition": bool(decision.transitions),
        "expand_members": expand,
    }
    if decision.orders:
        op = after.hidden or after.operation
        body |= {"verb": decision.orders[-1].verb, "attempt": op.attempt if op is not None else 1}
    ends = [
        {"of": "new" if begins and e.id == new else _of(before, e.id), "outcome": e.outcome}
        for e in decision.ended
        if e.id
    ]
    ends = [end for end in ends if end["of"]]
    if ends:
        body["end_operations"] = ends
    observe_after = observation_interval(lifecycle, after.state) if _drifts(lifecycle, after) else None
    return DecisionTemplate(
        decision=decision,
        fence_delta=body["fence_delta"],
        body=body,
        start_timers=_start_timers(lifecycle, before if exists else None, decision),
        observe_after=observe_after,
        starts_operation=begins,
        respec=respec,
        unchanged=after == before and not decision.beside,
    )


def _start_timers(lifecycle: Lifecycle, before: Snapshot | None, decision: Decision) -> dict[str, int]:
    """Timers that start: those that the decision arms, and those that did not run before."""
    running, ran = pending(lifecycle, decision.after), pending(lifecycle, before) if before is not None else {}
    armed = {timer.name: timer.after for timer in decision.timers}
    return {n: armed.get(n, r.after) for n, r in running.items() if n in armed or n not in ran}


def observation_interval(lifecycle: Lifecycle, state: str) -> int:
    """Seconds between two observations of a resource that rests in a state."""
    return lifecycle.pace.still if lifecycle.state(state).rarely_changes else lifecycle.pace.look


def _drifts(lifecycle: Lifecycle, after: Snapshot) -> bool:
    """Whether an observation could find drift."""
    return after.operation is None and after.hidden is None and after.state in lifecycle.drift_states


def _lines(before: Snapshot, decision: Decision, note: JournalNote | None, begins: bool) -> list[dict[str, Any]]:
    """What the journal tells: every transition, and lines whose state stays."""
    lines: list[dict[str, Any]] = [
        {"trigger": m.trigger, "detail": m.on, "actor": m.actor, "source": m.source, "target": m.target}
        for m in decision.transitions
    ]
    if note is not None and note.cancels:
        lines.insert(0, _line(before, note.trigger, note.detail, note.actor, _of(before, note.cancels) or "was"))
    elif note is not None and not lines and begins:
        lines.append(_line(before, Trigger.REQUEST, note.detail, note.actor, "new"))
    elif note is not None and not lines and decision.ended:
        lines.append(_line(before, note.trigger, note.detail, note.actor, "was"))
    if lines:
        lines[-1]["last"] = True
    return lines


def _line(before: Snapshot, trigger: str, detail: str, actor: str, of: str) -> dict[str, Any]:
    """A line that is no move."""
    state = before.state
    return {
        "trigger": trigger,
        "detail": detail,
        "actor": actor,
        "source": state,
        "target": state,
        "of": of,
        "last": True,
    }


def _respec(before: Snapshot, after: Snapshot) -> str | None:
    """What becomes of the spec that an action brings."""
    if after.revision != after.previous and before.revision == before.previous:
        return "set"
    if before.revision != before.previous and after.revision == after.previous:
        return "next" if after.previous != before.previous else "dropped"
    return None


def _stands(snapshot: Snapshot) -> bool:
    """Whether an order has its slot: it stands, or the agent that had it may still work on it."""
    op = snapshot.hidden or snapshot.operation
    return snapshot.work is not None or (op is not None and op.phase is Phase.FENCING)


def _taken(snapshot: Snapshot) -> bool:
    return snapshot.work is not None and snapshot.work.taken


def _claim(decision: Decision) -> str | None:
    """How the claim changes. One that is handed to an operation which ends with the same decision is released."""
    if ClaimChange.TAKE in decision.claims:
        return "beside" if decision.beside else "over" if decision.cancels or decision.leaves_out else "take"
    held = decision.after.operation or decision.after.hidden
    return "hands" if ClaimChange.HAND_OVER in decision.claims and held else None


def _operation_change(before: Operation | None, after: Operation | None) -> str:
    if after is None:
        return "none"
    return "same" if before is not None and before.id == after.id else "new"


def _of(before: Snapshot, id: str) -> str:
    """Which of a resource's operations it is; empty where it is none of them."""
    if before.hidden is not None and before.hidden.id == id:
        return "hidden"
    return "operation" if before.operation is not None and before.operation.id == id else ""


def _id(op: Operation | None) -> str | None:
    return op.id if op is not None else None
