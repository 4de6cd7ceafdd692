"""What must hold of every answer that the controller gives, whatever the lifecycle.

The law is the lifecycle as it was meant. The judge looks at each decision together with what was known before it, and
at each world that it leads to together with what is true there.
"""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.decide.draft import acts_as, claims
from stead.lifecycle.decision import ClaimChange, Decision, Outcome
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel, Event, TimerDue
from stead.lifecycle.rows import (
    ABSENT,
    ORIGIN,
    PROBE,
    Action,
    Actor,
    Aggregation,
    AwaitedParty,
    StateClass,
    Transition,
    Trigger,
)
from stead.lifecycle.snapshot import Operation, Phase, Snapshot
from stead.lifecycle.timers import pending

CLAIMS = {ClaimChange.TAKE: 1, ClaimChange.RELEASE: -1, ClaimChange.HAND_OVER: 0}


class PropertyViolated(Exception):
    """A property does not hold."""


class PropertyChecker:
    """Raises `PropertyViolated` where a decision breaks the law."""

    def __init__(self, lifecycle: Lifecycle, law: Lifecycle) -> None:
        self.lc = lifecycle
        self.law = law
        self._listed = set(law.table)

    def decision(self, before: Snapshot, event: Event, answer: Decision) -> None:
        """Everything that can be said of a decision without knowing what is true."""
        at = before.state
        for move in answer.transitions:
            if move.source != at:
                raise PropertyViolated(f"a move from {move.source} was made in {at}")
            at = move.target
            self._move(before, move)
        if answer.after.state != at:
            raise PropertyViolated(f"the state went from {at} to {answer.after.state} without a move")
        self._fences(before, answer)
        self._timers(before, event, answer)
        self._orders(answer)
        self._members(before, answer)
        self._ends(before, answer)
        self._cancelled(before, event, answer)

    def _move(self, before: Snapshot, move: Transition) -> None:
        """Only listed moves, by their actors; a moving state is left by the one it waits for."""
        listed = move in self._listed or any(
            replace(move, actor=actor) in self._listed for actor in Actor if acts_as(move.actor, actor)
        )
        if not listed:
            raise PropertyViolated(f"{move.actor} led it from {move.source} to {move.target}, which no row allows")
        if (
            move.trigger in (Trigger.OBSERVED, Trigger.ACCEPTED)
            and move.on == ABSENT
            and before.misses + 1 < self.law.absence_threshold
        ):
            raise PropertyViolated(
                f"it counted as gone after {before.misses + 1} looks of {self.law.absence_threshold}"
            )
        state = self.law.state(move.source)
        if state.cls is not StateClass.TRANSITIONAL or move.contended or move.actor is Actor.CLOCK:
            return
        if move.trigger is Trigger.REQUEST:
            action = self.law.action(move.on)
            if action is not None and (action.preempts or action.signals):
                return
        awaited = Actor.AGENT if state.awaits is AwaitedParty.AGENT else Actor.CONTROLLER
        if move.actor is not awaited:
            raise PropertyViolated(f"{move.actor} led it out of {move.source}, which waits for the {state.awaits}")

    def _fences(self, before: Snapshot, answer: Decision) -> None:
        """A fence only ever rises, and an order always has a new one."""
        if answer.after.fence < before.fence:
            raise PropertyViolated("the fence was lowered")
        if answer.orders and answer.after.fence == before.fence:
            raise PropertyViolated(f"the order {answer.orders[-1].verb} went out under an old fence")

    def _timers(self, before: Snapshot, event: Event, answer: Decision) -> None:
        """Whatever runs afterwards was armed now, or runs on from before."""
        armed = {t.name for t in answer.timers}
        ran = pending(self.lc, before)
        for name, running in pending(self.lc, answer.after).items():
            fired = isinstance(event, TimerDue) and event.timer == name
            if name not in armed and (ran.get(name) != running or fired):
                raise PropertyViolated(f"the timer {name} ought to run in {answer.after.state}, and was not armed")

    def _orders(self, answer: Decision) -> None:
        """An agent is told what the action says, or to look, or to undo."""
        op = answer.after.hidden or answer.after.operation
        for order in answer.orders:
            action = self.law.action(op.action) if op is not None else None
            if op is None or action is None:
                raise PropertyViolated(f"the order {order.verb} belongs to no operation")
            wanted = {PROBE, action.rollback_verb} if op.phase is Phase.ROLLING_BACK else {PROBE, *action.verbs}
            if order.verb not in wanted:
                raise PropertyViolated(f"{op.action} gave the order {order.verb}")
            if op.cancelled and not op.undoes and order.verb != PROBE:
                raise PropertyViolated(f"{op.action} was cancelled, and gave the order {order.verb}")

    def _members(self, before: Snapshot, answer: Decision) -> None:
        """Children are asked for what the state says, when it is entered."""
        op = answer.after.operation
        action = self.law.action(op.action) if op is not None else None
        if op is None or action is None or op.phase is not Phase.ACTING or action.scoped:
            return
        state = self.law.state(answer.after.state)
        waits = state.cls is StateClass.TRANSITIONAL and state.awaits is AwaitedParty.CHILDREN and action.via
        entered = before.state != answer.after.state or before.operation is None
        wanted = state.member_action or action.member_action
        if waits and entered and wanted and answer.members != wanted:
            raise PropertyViolated(
                f"in {state.name} the children were asked for {answer.members or 'nothing'}, not {wanted}"
            )

    def _ends(self, before: Snapshot, answer: Decision) -> None:
        """Every operation that is gone has ended, once; what was undone is as it was."""
        mine = {op.id for op in (before.operation, before.hidden) if op is not None}
        left = {op.id for op in (answer.after.operation, answer.after.hidden) if op is not None}
        ended = [e.id for e in answer.ended]
        if len(set(ended)) != len(ended) or not (mine - left) <= set(ended):
            raise PropertyViolated("an operation is gone, and nobody said how it ended")
        if set(ended) & left:
            raise PropertyViolated("an operation has ended and goes on")
        op = before.operation
        for e in answer.ended:
            if op is not None and e.id == op.id and e.outcome is Outcome.ROLLED_BACK:
                self._undone(before, op, answer)
            if op is not None and e.id == op.id and e.outcome is Outcome.SUCCEEDED:
                self._arrived(op, answer.after.state)

    def _cancelled(self, before: Snapshot, event: Event, answer: Decision) -> None:
        """What was cancelled and not done says so, whatever was found; and nothing else does."""
        left = {op.id: op for op in (answer.after.operation, answer.after.hidden) if op is not None}
        for op in (before.operation, before.hidden):
            if op is None:
                continue
            cancelled = op.cancelled or (isinstance(event, Cancel) and event.operation == op.id)
            if cancelled and op.id in left and not left[op.id].cancelled:
                raise PropertyViolated(f"{op.action} was cancelled, and that was forgotten")
            for e in answer.ended:
                failed = e.outcome in (Outcome.FAILED, Outcome.UNKNOWN) and not op.undoes
                if e.id == op.id and (failed if cancelled else e.outcome is Outcome.CANCELLED):
                    raise PropertyViolated(
                        f"{op.action} was {'' if cancelled else 'not '}cancelled, and ended {e.outcome}"
                    )

    def _undone(self, before: Snapshot, op: Operation, answer: Decision) -> None:
        action = self.law.action(op.action)
        assert action is not None
        home = {op.origin} if action.rollback_target == ORIGIN else {action.rollback_target, op.origin}
        if answer.after.state not in home:
            raise PropertyViolated(f"{op.action} was undone and left it in {answer.after.state}")
        if action.changes_spec and answer.after.revision != before.previous:
            raise PropertyViolated(f"{op.action} was undone and its spec stayed")

    def _arrived(self, op: Operation, state: str) -> None:
        action = self.law.action(op.action)
        if action is None or action.observes or self.law.aggregation in (Aggregation.DOMINANT, Aggregation.EVENTS):
            return
        if state != (op.origin if action.target == ORIGIN else action.target):
            raise PropertyViolated(f"{op.action} is said to be done, and it is {state}")

    def truth(self, answer: Decision, truth: str, revision: int) -> None:
        """What is believed is true, as long as nobody acted too late: absence is observed, and done means done."""
        state = self.law.state(answer.after.state)
        if answer.transitions and state.observed_as == ABSENT != truth and not self.abandons(answer):
            raise PropertyViolated(f"it is {state.name}, and at the provider it is {truth}")
        for e in answer.ended:
            action = self.law.action(e.action)
            if e.outcome is Outcome.SUCCEEDED and action is not None and action.verbs and not action.hidden:
                self._done(action, state.observed_as, answer.after, truth, revision)

    def abandons(self, answer: Decision) -> bool:
        """Whether the controller drops a record whatever is at the provider, because no agent is left to tell."""
        for move in answer.transitions:
            action = self.law.action(move.on) if move.trigger is Trigger.REQUEST else None
            if action is not None and self.law.state(move.target).cls is StateClass.ABSENT:
                return action.actors == (Actor.CONTROLLER,) and action.preempts
        return False

    def _done(self, action: Action, seen: str, after: Snapshot, truth: str, revision: int) -> None:
        if seen and seen != truth:
            raise PropertyViolated(f"{action.name} is said to be done, and at the provider it is {truth}")
        if action.changes_spec and seen and revision != after.revision:
            raise PropertyViolated(f"{action.name} is said to be done, and its spec is not in force")

    @staticmethod
    def guessed(answer: Decision) -> bool:
        """Whether an operation ended and nobody could say how."""
        looked = any(move.trigger in (Trigger.OBSERVED, Trigger.ACCEPTED) for move in answer.transitions)
        return any(
            e.outcome is Outcome.UNKNOWN or (e.outcome is Outcome.CANCELLED and not looked) for e in answer.ended
        )

    def claims(self, answer: Decision) -> int:
        """The change in the number of claims held on the resource itself."""
        beside = answer.claims == (ClaimChange.TAKE,) and answer.after.operation is None and not answer.after.hidden
        return 0 if beside else sum(CLAIMS[c] for c in answer.claims)

    def wants_claim(self, snap: Snapshot) -> bool:
        """Whether an operation is at work that has to hold the claim."""
        op = snap.hidden or snap.operation
        action = self.lc.action(op.action) if op is not None else None
        return action is not None and claims(self.lc, action)

    def missing_ends(self, seen: set[tuple[str, Outcome]]) -> str:
        """An action that was begun and could never be done, or never undone; empty where there is none."""
        for name in sorted({action for action, _ in seen}):
            action = self.law.action(name)
            if action is None:
                continue
            if (name, Outcome.SUCCEEDED) not in seen:
                return f"{name} can be begun, and never done"
            undoes = bool(action.rollback_verb) and bool(self.law.rows(action.on_failure, Trigger.ROLLED_BACK, name))
            if undoes and (name, Outcome.ROLLED_BACK) not in seen:
                return f"{name} can fail, and is never undone"
        return ""
