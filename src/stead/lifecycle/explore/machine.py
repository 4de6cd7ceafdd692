"""The controller of the explored world: the real `decide`, and a judge that looks at every answer it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from stead.lifecycle.decide import decide as real_decide
from stead.lifecycle.decide.draft import acts_as, claims
from stead.lifecycle.decision import ClaimChange, Decision, Outcome, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Connected, Disconnected, Event, FullState, Report, Take
from stead.lifecycle.rows import BACK, Actor, Awaits, Move, StateClass, Trigger
from stead.lifecycle.snapshot import FIRST, Fence, Snapshot
from stead.lifecycle.table import observations
from stead.lifecycle.timers import pending

OLD = Fence(0, -1)
"""Any fence before the one in force: snapshots are numbered as if theirs were the first."""

Decide = Callable[[Lifecycle, Snapshot, Event], Decision | Refusal]


class Wrong(Exception):
    """A property does not hold."""


class Answer(NamedTuple):
    """What the controller did with an event."""

    snap: int
    """The snapshot afterwards."""
    raised: bool
    """The fence was raised: whatever is in flight is old now."""
    decision: Decision
    claimed: int
    """The change in the number of claims held."""


class Machine:
    """Decides, remembers, and checks what was decided against the law: the lifecycle as it was meant."""

    def __init__(self, lifecycle: Lifecycle, law: Lifecycle, decide: Decide = real_decide) -> None:
        self.lc = lifecycle
        self.law = law
        self._decide = decide
        self._listed = set(law.table)
        self._numbers: dict[Snapshot, int] = {}
        self.snapshots: list[Snapshot] = []
        self.timers: list[tuple[str, ...]] = []
        self._answers: dict[tuple[int, Event], Answer | Refusal] = {}
        seen = observations(lifecycle)
        self.observable = bool(seen)
        reports = (Trigger.STARTED, Trigger.DONE, Trigger.FAILED, Trigger.DECLINED)
        self._old_words: tuple[Event, ...] = (
            Take(OLD),
            *(Report(kind, OLD) for kind in reports),
            *(Report(Trigger.SEEN, OLD, seen=s) for s in seen),
            *(FullState(OLD, s, working=w) for s in seen for w in (False, True)),
        )

    def number(self, snapshot: Snapshot) -> int:
        """The snapshot's number, with its fence counted from here on."""
        snapshot = replace(snapshot, fence=FIRST)
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
            gone = Report(Trigger.DONE, FIRST, actor=Actor.SUCCESSOR, notify=-1)
            by_id = (Connected(old), Connected(old, successor=True), Disconnected(-1), gone)
        for event in (*self._old_words, *by_id):
            if not isinstance(self._decide(self.lc, snapshot, event), Refusal):
                raise Wrong(f"in {snapshot.state}, {_old(event)} was heard though it is old")

    def ask(self, snap: int, event: Event) -> Answer | Refusal:
        """What the controller does with an event; the same event in the same snapshot is decided once."""
        key = (snap, event)
        known = self._answers.get(key)
        if known is None:
            known = self._answers[key] = self._ask(self.snapshots[snap], event)
        return known

    def _ask(self, before: Snapshot, event: Event) -> Answer | Refusal:
        answer = self._decide(self.lc, before, event)
        if isinstance(answer, Refusal):
            return answer
        at = before.state
        for move in answer.moves:
            if move.source != at:
                raise Wrong(f"a move from {move.source} was made in {at}")
            at = move.target
            self._judge(move)
        if answer.after.state != at:
            raise Wrong(f"the state went from {at} to {answer.after.state} without a move")
        self._judge_ends(before, answer)
        raised = answer.after.fence != before.fence
        return Answer(self.number(answer.after), raised, answer, self._claims(before, answer))

    def _judge(self, move: Move) -> None:
        """Only listed moves, by their actors; a moving state is left by the one it waits for."""
        listed = move in self._listed or any(
            replace(move, actor=actor) in self._listed for actor in Actor if acts_as(move.actor, actor)
        )
        if not listed:
            raise Wrong(f"{move.actor} led it from {move.source} to {move.target}, which no row allows")
        state = self.law.state(move.source)
        if state.cls is not StateClass.MOVING or move.contended or move.actor is Actor.CLOCK:
            return
        if move.trigger is Trigger.REQUEST:
            action = self.law.action(move.on)
            if action is not None and (action.outranks or action.steers):
                return
        awaited = (Actor.AGENT,) if state.awaits is Awaits.AGENT else (Actor.CONTROLLER,)
        if move.actor not in awaited:
            raise Wrong(f"{move.actor} led it out of {move.source}, which waits for the {state.awaits}")

    def _judge_ends(self, before: Snapshot, answer: Decision) -> None:
        """What was undone is as it was."""
        for ended in answer.ended:
            if ended.outcome is not Outcome.UNDONE or before.operation is None:
                continue
            action = self.law.action(ended.action)
            assert action is not None
            home = {before.operation.origin} if action.undone == BACK else {action.undone, before.operation.origin}
            if answer.after.state not in home:
                raise Wrong(f"{ended.action} was undone and left it in {answer.after.state}")
            if answer.after.revision != before.previous:
                raise Wrong(f"{ended.action} was undone and its spec stayed")

    def _claims(self, before: Snapshot, answer: Decision) -> int:
        changes = {ClaimChange.TAKE: 1, ClaimChange.RELEASE: -1, ClaimChange.HAND_OVER: 0}
        return sum(changes[c] for c in answer.claims)

    def wants_claim(self, snap: Snapshot) -> bool:
        """Whether an operation is at work that has to hold the claim."""
        op = snap.hidden or snap.operation
        if op is None:
            return False
        action = self.lc.action(op.action)
        return action is not None and claims(self.lc, action)


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
