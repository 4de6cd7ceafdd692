"""The controller of the explored world: the real `decide`, asked once for each event in each snapshot."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from stead.lifecycle.decide import decide as real_decide
from stead.lifecycle.decision import Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Connected, Disconnected, Event, FullState, Report, Take
from stead.lifecycle.explore.judge import PropertyChecker, PropertyViolated
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Fence, Snapshot
from stead.lifecycle.table import observations
from stead.lifecycle.timers import pending

HERE = Fence(1, 7)
"""The fence in force: snapshots are numbered as if theirs were this one."""
OLD = Fence(1, 6)
"""Any fence before it."""

Decide = Callable[[Lifecycle, Snapshot, Event], Decision | Rejection]

__all__ = ["HERE", "Answer", "Decide", "ExploredController", "PropertyViolated", "real_decide"]


class Answer(NamedTuple):
    """What the controller did with an event."""

    snap: int
    """The snapshot afterwards."""
    raised: bool
    """The fence was raised: whatever is in flight is old now."""
    decision: Decision
    claimed: int
    """The change in the number of claims held."""


class ExploredController:
    """Decides and remembers; the judge looks at every answer."""

    def __init__(self, lifecycle: Lifecycle, law: Lifecycle, decide: Decide = real_decide) -> None:
        self.lc = lifecycle
        self.judge = PropertyChecker(lifecycle, law)
        self._decide = decide
        self._numbers: dict[Snapshot, int] = {}
        self.snapshots: list[Snapshot] = []
        self.timers: list[tuple[str, ...]] = []
        self.outcomes: set[tuple[str, Outcome]] = set()
        """How operations were seen to end."""
        self._answers: dict[tuple[int, Event], Answer | Rejection] = {}
        seen = observations(lifecycle)
        self.observable = bool(seen)
        reports = (Trigger.STARTED, Trigger.SUCCEEDED, Trigger.FAILED, Trigger.DECLINED)
        self._old_words: tuple[Event, ...] = (
            Take(OLD),
            *(Report(kind, OLD) for kind in reports),
            *(Report(kind, OLD, actor=Actor.CONTROLLER) for kind in reports[1:]),
            *(Report(Trigger.OBSERVED, OLD, seen=s) for s in seen),
            *(FullState(OLD, s, working=w) for s in seen for w in (False, True)),
        )

    def number(self, snapshot: Snapshot) -> int:
        """The snapshot's number, with its fence counted from here on."""
        snapshot = replace(snapshot, fence=HERE)
        known = self._numbers.get(snapshot)
        if known is None:
            known = self._numbers[snapshot] = len(self.snapshots)
            self.snapshots.append(snapshot)
            self.timers.append(tuple(pending(self.lc, snapshot)))
            self._judge_old_words(snapshot)
        return known

    def _judge_old_words(self, snapshot: Snapshot) -> None:
        """Whatever is said under an old fence, in whatever state, changes nothing."""
        by_id: tuple[Event, ...] = ()
        if self.lc.presence:
            old = snapshot.notify
            gone = Report(Trigger.SUCCEEDED, HERE, actor=Actor.SUCCESSOR, notify=-1)
            by_id = (Connected(old), Connected(old, successor=True), Disconnected(-1), gone)
        for event in (*self._old_words, *by_id):
            if not isinstance(self._decide(self.lc, snapshot, event), Rejection):
                raise PropertyViolated(f"in {snapshot.state}, {_old(event)} was heard though it is old")

    def ask(self, snap: int, event: Event) -> Answer | Rejection:
        """What the controller does with an event; the same event in the same snapshot is decided once."""
        key = (snap, event)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._ask(self.snapshots[snap], event)
        return known

    def _ask(self, before: Snapshot, event: Event) -> Answer | Rejection:
        answer = self._decide(self.lc, before, event)
        if isinstance(answer, Rejection):
            return answer
        self.judge.decision(before, event, answer)
        self.outcomes |= {(e.action, e.outcome) for e in answer.ended}
        raised = answer.after.fence != before.fence
        return Answer(self.number(answer.after), raised, answer, self.judge.claims(answer))


def _old(event: Event) -> str:
    match event:
        case Take():
            return "the taking of an order"
        case Report():
            return f"the report {event.kind} {event.seen}".rstrip()
        case FullState():
            return f"a full state with {event.seen}"
        case Connected():
            return "a hello with a known notify-id"
        case Disconnected():
            return "the end of another connection"
    return str(event)
