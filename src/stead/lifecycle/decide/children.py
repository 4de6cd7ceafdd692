"""The children of a resource were counted: go on, end, settle for what they amount to, or fail."""

from __future__ import annotations

from stead.lifecycle.aggregate import dominant, implied_by_events, worst
from stead.lifecycle.decide.draft import Draft, NoRow, refuse
from stead.lifecycle.decision import Code, Decision, Outcome, Refusal
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children
from stead.lifecycle.rows import Actor, Awaits, Fold, StateClass, Trigger
from stead.lifecycle.snapshot import OnPartial, Phase, Snapshot
from stead.lifecycle.table import settled_of

ROLLBACK = "rollback"
REFINE = "refine"


def on_children(lc: Lifecycle, snap: Snapshot, event: Children) -> Decision | Refusal:
    """What a new count of the children does."""
    total = len(event.counts) and sum(n for _, n in event.counts)
    draft = Draft(lc, snap)
    draft.set(children=total)
    try:
        if snap.operation is None:
            _follow(draft, event)
        elif event.remaining or snap.operation.phase not in (Phase.ACTING, Phase.UNDOING):
            pass
        elif snap.operation.phase is Phase.UNDOING:
            if draft.action.verbs:
                return refuse(snap, Code.NOT_EXPECTED, "an agent, not the children, takes this back")
            draft.undone()
        elif _awaits_children(lc, snap):
            _go_on(draft, event)
    except NoRow as missing:
        return refuse(snap, Code.NOT_EXPECTED, missing.says)
    return draft.decision()


def _awaits_children(lc: Lifecycle, snap: Snapshot) -> bool:
    assert snap.operation is not None
    action = lc.action(snap.operation.action)
    assert action is not None
    state = lc.state(snap.state)
    if action.through:
        return state.cls is StateClass.MOVING and state.awaits is Awaits.CHILDREN
    return bool(action.members)


def _follow(draft: Draft, event: Children) -> None:
    """No operation is under way: a parent that follows its children goes where they are."""
    lc, now = draft.lc, draft.now
    target = fold(lc, event)
    if target and target != now.state and lc.rows(now.state, Trigger.CHILDREN, lc.members):
        draft.move(Trigger.CHILDREN, lc.members, Actor.CONTROLLER, target)


def fold(lc: Lifecycle, event: Children) -> str:
    """The state that the children amount to; empty where they say nothing."""
    counts = dict(event.counts)
    if lc.fold is Fold.DOMINANT:
        resting = settled_of(lc)
        return dominant({s: n for s, n in counts.items() if s in resting}, resting) or ""
    if lc.fold is Fold.WORST:
        return worst(counts, lc.order, lc.order[-1])
    if lc.fold is Fold.EVENTS:
        return implied_by_events(dict(name.split(":", 1) for name, _ in event.counts if ":" in name))
    return ""


def _go_on(draft: Draft, event: Children) -> None:
    """All children that the operation waited for have settled."""
    op, action = draft.op, draft.action
    target, last = draft.follows()
    outcome = Outcome.FAILED if event.failed else Outcome.DONE
    if last and op.action == "create" and event.failed and op.on_partial is not OnPartial.CONTINUE:
        _partial(draft, op.on_partial)
    elif last and draft.lc.fold is Fold.DOMINANT:
        draft.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, fold(draft.lc, event) or target, outcome)
    elif event.failed:
        draft.fail(Trigger.CHILDREN, action.name, Actor.CONTROLLER)
    elif last and draft.lc.fold is Fold.EVENTS and action.respec:
        draft.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, fold(draft.lc, event) or target)
    else:
        draft.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, target)


def _partial(draft: Draft, policy: OnPartial) -> None:
    """Only some members of a new group came up, and the caller does not want to go on like that."""
    draft.recount = True
    if policy is OnPartial.ROLLBACK:
        draft.set_op(phase=Phase.UNDOING)
        draft.members = ROLLBACK
    else:
        draft.set_op(on_partial=OnPartial.CONTINUE)
        draft.members = REFINE
