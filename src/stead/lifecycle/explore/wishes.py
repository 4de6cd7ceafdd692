"""What may be asked of the explored resource, and what its children may come to."""

from __future__ import annotations

from collections.abc import Iterator

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children, Event, Report, Request
from stead.lifecycle.rows import Action, Actor, Awaits, Fold, StateClass, Trigger
from stead.lifecycle.snapshot import FIRST, OnFailure, OnPartial, Phase, Snapshot

Wish = tuple[str, Request]


class Wishes:
    """Requests, told apart into deletes and others, and counts of children."""

    def __init__(self, lifecycle: Lifecycle) -> None:
        self.lc = lifecycle
        deletes = [a for a in lifecycle.actions if a.by and self._deletes(a)]
        others = [a for a in lifecycle.actions if a.by and not self._deletes(a)]
        self.deletes = tuple(w for a in deletes for w in _variants(a))
        self.ordinary = tuple(w for a in others for w in _variants(a))
        if any(a.undo not in ("", "leave") for a in lifecycle.actions):
            self.ordinary += (("the user asks for undo", Request("undo")),)
        if not self.deletes:
            self.deletes = self.ordinary

    def _deletes(self, action: Action) -> bool:
        if action.steers or not self.lc.has_state(action.ends):
            return False
        return action.outranks or self.lc.state(action.ends).cls in (StateClass.FINAL, StateClass.ABSENT)

    def children(self, snap: Snapshot, asked: bool) -> Iterator[tuple[str, Event]]:
        """What a count of the children may say now."""
        op = snap.operation
        if op is None:
            if self.lc.fold in (Fold.DOMINANT, Fold.WORST):
                for counts in self._counts():
                    yield f"the children are {_text(counts)}", Children(counts)
            return
        if not asked or op.phase not in (Phase.ACTING, Phase.UNDOING):
            return
        action = self.lc.action(op.action)
        assert action is not None
        state = self.lc.state(snap.state)
        if not action.members and state.awaits is not Awaits.CHILDREN:
            return
        for counts in self._counts():
            for failed in (0, 1):
                word = "did what was asked" if not failed else "could not all do what was asked"
                yield f"the children {word} and are {_text(counts)}", Children(counts, failed=failed)

    def own_steps(self, snap: Snapshot, asked: bool) -> Iterator[tuple[str, Event]]:
        """The controller's own step may fail, and a check may say no."""
        op = snap.operation
        state = self.lc.state(snap.state)
        if op is None or op.phase is not Phase.ACTING or state.cls is not StateClass.MOVING:
            return
        if state.awaits is Awaits.CONTROLLER:
            yield "the controller's step fails", Report(Trigger.FAILED, FIRST, actor=Actor.CONTROLLER)
        elif asked:
            yield "the check says no", Report(Trigger.DECLINED, FIRST, actor=Actor.CONTROLLER)

    def _counts(self) -> Iterator[tuple[tuple[str, int], ...]]:
        """All that two children can amount to, as far as the parent can tell."""
        if self.lc.fold is Fold.EVENTS:
            for start, end in (("UNDONE", "UNDONE"), ("DONE", "UNDONE"), ("DONE", "DONE")):
                yield ((f"start_lease:{start}", 1), (f"end_lease:{end}", 1))
            return
        yield ()
        if self.lc.fold in (Fold.DOMINANT, Fold.WORST):
            rests = [s for s in self.lc.order if self.lc.has_state(s)]
            for i, one in enumerate(rests):
                yield ((one, 2),)
                for other in rests[i + 1 :]:
                    yield ((one, 1), (other, 1))


def _variants(action: Action) -> Iterator[Wish]:
    """A request, and the ways to ask for it that make a difference."""
    actor = action.by[0]
    revision = 1 if action.respec else 0
    says = f"the {actor} asks for {action.name}"
    yield says, Request(action.name, actor, revision=revision)
    if action.forceable:
        yield f"{says}, forced", Request(action.name, actor, force=True, reason="exploring", revision=revision)
    if action.undo not in ("", "leave"):
        keep = Request(action.name, actor, on_failure=OnFailure.KEEP, revision=revision)
        yield f"{says}, keeping errors", keep
    if action.name == "create" and action.members:
        yield f"{says}, all or nothing", Request(action.name, actor, on_partial=OnPartial.ROLLBACK)
        yield f"{says}, without the failed", Request(action.name, actor, on_partial=OnPartial.REFINE)
        yield f"{says}, held", Request(action.name, actor, hold=True)


def _text(counts: tuple[tuple[str, int], ...]) -> str:
    return ", ".join(f"{n} {state}" for state, n in counts) or "none"
