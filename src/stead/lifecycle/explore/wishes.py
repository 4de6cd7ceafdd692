"""What may be asked of the explored resource, and what its children may come to."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children, Event, Report, Request
from stead.lifecycle.explore.machine import HERE
from stead.lifecycle.rows import Action, Actor, Aggregation, AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import OnFailure, OnPartial, Phase, Snapshot

Wish = tuple[str, Request]


class Requests:
    """Requests, told apart into deletes and others, and counts of children."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self.lc = lifecycle
        deletes = [a for a in lifecycle.actions if a.actors and self._deletes(a)]
        others = [a for a in lifecycle.actions if a.actors and not self._deletes(a)]
        self.deletes = tuple(w for a in deletes for w in _variants(a))
        self.ordinary = tuple(w for a in others for w in _variants(a))
        if any(a.rollback_verb for a in lifecycle.actions):
            self.ordinary += (("the user asks for undo", Request("undo", operation="undo")),)
        if not self.deletes:
            self.deletes = self.ordinary

    def _deletes(self, action: Action) -> bool:
        if action.signals or not self.lc.has_state(action.target):
            return False
        return action.preempts or self.lc.state(action.target).cls in (StateClass.FINAL, StateClass.ABSENT)

    def children(self, snap: Snapshot, asked: bool) -> Iterator[tuple[str, Event]]:
        """What a count of the children may say now."""
        op = snap.operation
        if op is None:
            if self.lc.aggregation in (Aggregation.DOMINANT, Aggregation.WORST):
                for counts in self._counts():
                    yield f"the children are {_text(counts)}", Children(counts)
            return
        if not asked or op.phase not in (Phase.ACTING, Phase.ROLLING_BACK):
            return
        action = self.lc.action(op.action)
        assert action is not None
        state = self.lc.state(snap.state)
        if not action.member_action and state.awaits is not AwaitedParty.CHILDREN:
            return
        for counts in self._counts():
            for failed in (0, 1):
                word = "did what was asked" if not failed else "could not all do what was asked"
                yield f"the children {word} and are {_text(counts)}", Children(counts, 0, failed)

    def own_steps(self, snap: Snapshot, asked: bool) -> Iterator[tuple[str, Event]]:
        """The controller's own step may fail, and a check may say no."""
        op = snap.operation
        state = self.lc.state(snap.state)
        if op is None or op.phase is not Phase.ACTING or state.cls is not StateClass.TRANSITIONAL:
            return
        action = self.lc.action(op.action)
        assert action is not None
        if state.awaits is AwaitedParty.STEP:
            for events in _events(self.lc, action):
                done = Report(Trigger.SUCCEEDED, HERE, actor=Actor.CONTROLLER, events=events)
                yield "the controller has done its step", done
            if action.checked:
                yield "the check says no", Report(Trigger.DECLINED, HERE, actor=Actor.CONTROLLER)
        if state.awaits in (AwaitedParty.STEP, AwaitedParty.CONTROLLER):
            yield "the controller could not do its step", Report(Trigger.FAILED, HERE, actor=Actor.CONTROLLER)
        elif asked:
            yield "the check says no", Report(Trigger.DECLINED, HERE, actor=Actor.CONTROLLER)

    def _counts(self) -> Iterator[tuple[tuple[str, int], ...]]:
        """All that two children can amount to, as far as the parent can tell."""
        yield ()
        if self.lc.aggregation in (Aggregation.DOMINANT, Aggregation.WORST):
            rests = [s for s in self.lc.aggregation_order if self.lc.has_state(s)]
            for i, one in enumerate(rests):
                yield ((one, 2),)
                for other in rests[i + 1 :]:
                    yield ((one, 1), (other, 1))


def _events(lc: Lifecycle, action: Action) -> tuple[tuple[tuple[str, str], ...], ...]:
    """What the timed events of a lease may be, where that makes a difference."""
    if lc.aggregation is not Aggregation.EVENTS or not action.changes_spec:
        return ((),)
    pairs = (("UNDONE", "UNDONE"), ("DONE", "UNDONE"), ("DONE", "DONE"), ("ERROR", "UNDONE"))
    return tuple((("start_lease", start), ("end_lease", end)) for start, end in pairs)


def _variants(action: Action) -> Iterator[Wish]:
    """A request, and the ways to ask for it that make a difference."""
    actor = action.actors[0]
    why = "exploring" if action.needs_reason else ""
    plain = Request(action.name, actor, reason=why, revision=1 if action.changes_spec else 0, operation=action.name)
    says = f"the {actor} asks for {action.name}"
    yield says, plain
    if action.forceable:
        yield f"{says}, forced", replace(plain, force=True, reason="exploring")
    if action.rollback_verb:
        yield f"{says}, keeping errors", replace(plain, on_failure=OnFailure.KEEP)
    if action.name == "create" and action.member_action:
        yield f"{says}, all or nothing", replace(plain, on_partial=OnPartial.ROLLBACK)
        yield f"{says}, without the failed", replace(plain, on_partial=OnPartial.REFINE)
        yield f"{says}, held", replace(plain, hold=True)


def _text(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{n} {state}" for state, n in counts) or "none"
