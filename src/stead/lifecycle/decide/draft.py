"""A decision in the making, and the few things that every kind of event ends in.

To *enter* a state is to begin whatever it waits for. To *arrive* is to follow a row of the table and then enter, or
finish. To *fail* is to arrive where failure leads and then undo. Every change of state goes through `move`, which
looks the row up: what the table does not list cannot happen.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from stead.lifecycle import timers
from stead.lifecycle.decision import (
    ClaimChange,
    Code,
    Decision,
    EndedOperation,
    Order,
    Outcome,
    Reason,
    Rejection,
    Timer,
)
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.rows import (
    ON_FAILURE,
    ORIGIN,
    PROBE,
    Action,
    Actor,
    AwaitedParty,
    Transition,
    Trigger,
)
from stead.lifecycle.snapshot import OnFailure, Operation, Phase, Snapshot, Work
from stead.lifecycle.table import observations, resolve, way


class NoRow(Exception):
    """The table has no such move."""

    def __init__(self, says: str) -> None:
        super().__init__(says)
        self.says = says


def refuse(snap: Snapshot, code: Code, says: str) -> Rejection:
    """A refusal for one reason."""
    return Rejection((Reason(code, says),), snap.state, holder=snap.blocked)


class DecisionDraft:
    """Collects what happens to one resource; `decision()` closes it."""

    def __init__(self, lifecycle: Lifecycle, snapshot: Snapshot) -> None:
        self.lc = lifecycle
        self.before = snapshot
        self.now = snapshot
        self.moves: list[Transition] = []
        self.orders: list[Order] = []
        self.claims: list[ClaimChange] = []
        self.ended: list[EndedOperation] = []
        self.members = ""
        self.recount = False
        self.step = False
        self.gave_up = False
        """An order stands that nobody will wait for any more."""
        self.fired = ""
        """The timer that brought us here: if it still runs afterwards, it starts anew."""
        self.says = ""

    # What is going on

    @property
    def op(self) -> Operation:
        """The operation that acts on the resource now: a hidden one comes first."""
        op = self.now.hidden or self.now.operation
        assert op is not None
        return op

    @property
    def action(self) -> Action:
        """The action of that operation."""
        action = self.lc.action(self.op.action)
        assert action is not None
        return action

    def follows(self) -> tuple[str, bool]:
        """Where success leads from here, and whether that ends the action."""
        if self.now.state in self.action.via:
            for name, follows, last in way(self.lc, self.action):
                if name == self.now.state:
                    return (self.op.origin if follows == ORIGIN else follows), last
        ends = self.action.target
        return (self.now.state if ends == ORIGIN else ends), True

    @property
    def awaits(self) -> AwaitedParty:
        """Whose word the operation waits for, in the state it is in."""
        return awaited(self.lc, self.action, self.now.state)

    # Single changes

    def set(self, **changes: Any) -> None:
        """Change the snapshot."""
        self.now = replace(self.now, **changes)

    def set_op(self, **changes: Any) -> None:
        """Change the operation that acts now."""
        op = replace(self.op, **changes)
        self.set(**{"hidden" if self.now.hidden else "operation": op})

    def move(self, trigger: Trigger, on: str, actor: Actor, target: str, *, forced: bool = False) -> None:
        """Change the state, if the table lists it."""
        if target == self.now.state:
            return
        for row in self.lc.rows(self.now.state, trigger, on):
            if row.target == target and acts_as(actor, row.actor) and (forced or not row.forced):
                self.moves.append(row if row.actor is actor else replace(row, actor=actor))
                self.set(state=target, kept=None)
                return
        raise NoRow(f"{self.now.state} has no row to {target} on {trigger} {on} by {actor}")

    def order(self, verb: str, *, again: bool = False) -> None:
        """Tell an agent; whatever was said before is stale from now on."""
        self.orders.append(Order(verb, again))
        self.set(work=Work(verb), fence=self.now.fence.raised())

    def withdraw(self) -> None:
        """Take the order back; whoever has it is fenced off."""
        self.set(work=None, fence=self.now.fence.raised())

    # What events end in

    def enter(self) -> None:
        """Begin what the operation waits for in the state it is in."""
        action, state = self.action, self.lc.state(self.now.state)
        if self.op.cancelled:
            self._begin_nothing()
        elif self.awaits is AwaitedParty.CHILDREN and state.member_action and not self.lc.members:
            target, _ = self.follows()  # there is nobody below to be asked
            self.set_op(phase=Phase.ACTING)
            self.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, target)
        elif self.awaits is AwaitedParty.CHILDREN:
            self.set_op(phase=Phase.ACTING)
            self.members = state.member_action or action.member_action
            self.recount = True
        elif self.awaits is AwaitedParty.CONTROLLER:
            self.set_op(phase=Phase.HELD if self.op.hold and self._can_be_held() else Phase.ACTING)
        elif self.awaits is AwaitedParty.STEP:
            self.set_op(phase=Phase.ACTING)
            self.take_step()
        elif action.observes:
            self.probe()
        elif not action.verbs:
            self.finish(Outcome.SUCCEEDED)
        elif (self.lc.state(self.op.origin).probe_first or action.spares) and not self.op.attempt:
            self.probe()
        else:
            self.set_op(phase=Phase.ACTING, attempt=max(self.op.attempt, 1))
            self.order(action.verbs[self.op.step])

    def _begin_nothing(self) -> None:
        """It was cancelled on its way here: settle to what is there."""
        if self.awaits is AwaitedParty.CHILDREN:
            self.fail(Trigger.CHILDREN, self.action.name, Actor.CONTROLLER)
        elif self.awaits is AwaitedParty.AGENT:
            self.look()
        else:
            self.silence()

    def take_step(self) -> None:
        """Have the controller do its own work; whoever did it before and was not heard is fenced off."""
        self.step = True
        self.set(fence=self.now.fence.raised())

    def _can_be_held(self) -> bool:
        return any(a.signals == self.op.action and self.now.state in a.source for a in self.lc.actions)

    def arrive(
        self, trigger: Trigger, on: str, actor: Actor, target: str, outcome: Outcome = Outcome.SUCCEEDED
    ) -> None:
        """Follow a row; then begin what comes next, or end the operation."""
        if self.now.hidden is not None:  # nobody sees it: whatever state shows is another's
            self.finish(outcome)
            return
        on_the_way = target in self.action.via and target != self.now.state
        self.move(trigger, on, actor, target)
        self.set(misses=0)
        if on_the_way:
            self.set(work=None)
            self.enter()
        else:
            self.finish(outcome)

    def decline(self, actor: Actor) -> None:
        """Nothing was done: back to where the operation began."""
        self.drop_spec()
        self.arrive(Trigger.DECLINED, self.op.action, actor, self.op.origin, Outcome.FAILED)

    def fail(self, trigger: Trigger, on: str, actor: Actor, outcome: Outcome = Outcome.FAILED) -> None:
        """Arrive where failure leads, and take back what was done if that is wanted."""
        if self.now.hidden is not None:
            self.finish(outcome)
            return
        action = self.action
        targets = resolve(action, ON_FAILURE, (self.op.origin,), self.lc.state(self.now.state))
        if not targets:
            raise NoRow(f"{action.name} cannot fail in {self.now.state}")
        self.move(trigger, on, actor, targets[0])
        self.set(misses=0)
        at_error = targets[0] == action.on_failure
        wanted = bool(action.rollback_verb) and self.op.on_failure is OnFailure.ROLLBACK
        if at_error and wanted:
            self.roll_back()
        else:
            if targets[0] == self.op.origin:
                self.drop_spec()
            elif at_error:
                self.keep()
            self.finish(outcome)

    def keep(self) -> None:
        """The failure stays: remember whose it was; what nobody is to take back is what the spec says now."""
        if self.action.rollback_verb:
            self.set(kept=(self.op.action, self.op.origin))
        elif self.action.changes_spec:
            self.set(previous=self.now.revision)

    def roll_back(self) -> None:
        """Begin to take back what the failed action did."""
        self.set_op(phase=Phase.ROLLING_BACK, attempt=1)
        self.set(work=None, misses=0, kept=None)
        if self.action.member_action and not self.action.verbs:
            self.members = self.action.rollback_verb
            self.recount = True
        else:
            self.order(self.action.rollback_verb)

    def rolled_back(self) -> None:
        """What was done is taken back."""
        rows = self.lc.rows(self.now.state, Trigger.ROLLED_BACK, self.op.action)
        target = rows[0].target if rows else self.action.rollback_target
        if len(rows) > 1:
            target = self.op.origin
        self.move(Trigger.ROLLED_BACK, self.op.action, Actor.CONTROLLER, target)
        self.drop_spec()
        ended = Outcome.CANCELLED if self.op.cancelled else Outcome.FAILED
        self.finish(Outcome.ROLLED_BACK if rows else ended)

    def probe(self) -> None:
        """Look at what is there before anything else."""
        self.set_op(phase=Phase.PROBING)
        self.order(PROBE)

    def look(self) -> None:
        """Settle what is overdue, by a last look if there is anything to be seen."""
        self.set_op(overdue=True)
        if self.can_probe():
            self.probe()
        else:
            self.silence()

    def can_probe(self) -> bool:
        """Whether a look at the provider can tell this kind's states apart."""
        return bool(observations(self.lc))

    def silence(self) -> None:
        """Nobody can say what is there."""
        self.gave_up = self.now.work is not None
        if self.now.hidden is not None:
            self.finish(Outcome.UNKNOWN)
            return
        action = self.action
        targets = resolve(action, self.lc.state(self.now.state).on_failure or action.on_timeout, (self.op.origin,))
        target = targets[0] if targets else self.now.state
        if target == action.on_failure:
            self.fail(Trigger.TIMED_OUT, action.name, Actor.CLOCK, Outcome.UNKNOWN)
            return
        self.move(Trigger.TIMED_OUT, action.name, Actor.CLOCK, target)
        if target == self.op.origin:
            self.drop_spec()
        self.finish(Outcome.UNKNOWN)

    def fence_off(self, then: Phase, **changes: Any) -> None:
        """Before anything else: raise the fence and let the custody of whoever is at work run out."""
        self.set_op(phase=Phase.FENCING, then=then, **changes)
        self.withdraw()

    def drop_spec(self) -> None:
        """The spec that the action brought is not to be."""
        if self.action.changes_spec:
            self.set(revision=self.now.previous)

    def finish(self, outcome: Outcome) -> None:
        """End the operation; if a request was waiting for it, that one goes on."""
        op, action = self.op, self.action
        if op.cancelled and not op.undoes and outcome in (Outcome.FAILED, Outcome.UNKNOWN):
            outcome = Outcome.CANCELLED
        self.ended.append(EndedOperation(op.action, outcome, op.id))
        if self.now.hidden is not None and outcome is not Outcome.SUCCEEDED:
            self.drop_spec()
        if outcome is Outcome.SUCCEEDED and action.changes_spec:
            # What was seen before was seen under another spec, and is not to be judged by this one.
            self.set(previous=self.now.revision, fence=self.now.fence.raised())
        # After the agent's own word the fence stays: it knows this one, and may tell what it has under it. Where an
        # order was given up, the answer that may still come was made too early to be believed.
        if self.gave_up:
            self.withdraw()
        if self.now.hidden is not None:
            self.set(hidden=None, work=None)
            if self.now.operation is not None:
                self.claims.append(ClaimChange.HAND_OVER)
                self.enter()
                return
        else:
            self.set(operation=None, work=None)
        if self.lc.presence:
            self.set(successor=0)  # whoever was to take over is not expected any more
        if claims(self.lc, action):
            self.claims.append(ClaimChange.RELEASE)

    def decision(self, **extra: Any) -> Decision:
        """All of it, with the timers that start anew."""
        before = timers.pending(self.lc, self.before)
        armed = tuple(
            Timer(name, running.after)
            for name, running in timers.pending(self.lc, self.now).items()
            if before.get(name) != running or name == self.fired
        )
        return Decision(
            after=self.now,
            transitions=tuple(self.moves),
            orders=tuple(self.orders),
            timers=armed,
            claims=tuple(self.claims),
            ended=tuple(self.ended),
            members=self.members,
            recount=self.recount,
            step=self.step,
            message=self.says,
            **extra,
        )


def awaited(lc: Lifecycle, action: Action, state: str) -> AwaitedParty:
    """Whose word an operation of the action waits for in a state."""
    if state in action.via:
        return lc.state(state).awaits
    return AwaitedParty.CHILDREN if action.member_action and not action.verbs else AwaitedParty.AGENT


def acts_as(actor: Actor, wanted: Actor) -> bool:
    """Whether an actor may make a move that is another's: an admin may do what a user may."""
    return actor is wanted or (actor is Actor.ADMIN and wanted is Actor.USER)


def claims(lc: Lifecycle, action: Action) -> bool:
    """Whether an operation of the action holds a claim. An agent that connects holds none: it is always let in."""
    return not (lc.presence and not action.actors)
