"""The children of a resource were counted: go on, end, settle for what they amount to, or fail."""

from __future__ import annotations

from stead.lifecycle.aggregate import dominant, worst
from stead.lifecycle.decide.draft import DecisionDraft, NoRow, refuse
from stead.lifecycle.decision import Code, Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Children
from stead.lifecycle.rows import Actor, Aggregation, AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import OnPartial, Phase, Snapshot
from stead.lifecycle.table import settled_of

REFINE = "refine"
"""What is asked of members where those that failed are not to be kept."""

REMOVE = "remove"
"""What is asked of members that are too many: of these a group may be left with none."""


def on_children(lc: Lifecycle, snap: Snapshot, event: Children) -> Decision | Rejection:
    """What a new count of the children does."""
    draft = DecisionDraft(lc, snap)
    draft.set(children=sum(n for _, n in event.counts))
    try:
        if snap.operation is None:
            _follow(draft, event)
        elif event.remaining or snap.operation.phase not in (Phase.ACTING, Phase.ROLLING_BACK):
            pass
        elif snap.operation.phase is Phase.ROLLING_BACK:
            if draft.action.verbs:
                return refuse(snap, Code.NOT_EXPECTED, "an agent, not the children, takes this back")
            _taken_back(draft, event)
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
    if action.via:
        return state.cls is StateClass.TRANSITIONAL and state.awaits is AwaitedParty.CHILDREN
    return bool(action.member_action)


def _follow(draft: DecisionDraft, event: Children) -> None:
    """No operation is under way: a parent that follows its children goes where they are."""
    target = followed(draft.lc, draft.now.state, event)
    if target != draft.now.state:
        draft.move(Trigger.CHILDREN, draft.lc.members, Actor.CONTROLLER, target)


def followed(lc: Lifecycle, state: str, event: Children) -> str:
    """The state in which a parent that nothing is done to follows its children, from one that it is in."""
    target = fold(lc, event)
    return target if target and lc.rows(state, Trigger.CHILDREN, lc.members) else state


def fold(lc: Lifecycle, event: Children) -> str:
    """The state that the children amount to; empty where they say nothing."""
    counts = dict(event.counts)
    if lc.aggregation is Aggregation.DOMINANT:
        resting = settled_of(lc)
        return dominant({s: n for s, n in counts.items() if s in resting}, resting) or ""
    if lc.aggregation is Aggregation.WORST:
        strange = [state for state in counts if state not in lc.aggregation_order]
        if strange:  # a child is counted by what it makes of its parent
            raise NoRow(f"{strange[0]} is nothing that a {lc.members} makes of its {lc.kind}")
        return worst(counts, lc.aggregation_order, lc.aggregation_order[-1])
    return ""


def _go_on(draft: DecisionDraft, event: Children) -> None:
    """All children that the operation waited for have settled."""
    op, action = draft.op, draft.action
    target, last = draft.follows()
    outcome = Outcome.FAILED if event.failed else Outcome.SUCCEEDED
    if action.observes:  # the group is what its members are, whatever became of each
        state = fold(draft.lc, event) or target
        draft.arrive(Trigger.CHILDREN, draft.lc.members, Actor.CONTROLLER, state, outcome)
        return
    if last and event.failed and op.on_partial is not OnPartial.CONTINUE:
        _partial(draft, op.on_partial)
    elif last and draft.lc.aggregation is Aggregation.DOMINANT:
        nobody = not fold(draft.lc, event) and draft.lc.state(target).cls is StateClass.STABLE
        if nobody and (event.failed or action.member_action != REMOVE):
            outcome = Outcome.FAILED  # nobody is left to be in it
            target = action.on_failure
        draft.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, fold(draft.lc, event) or target, outcome)
    elif event.failed:
        draft.fail(Trigger.CHILDREN, action.name, Actor.CONTROLLER)
    else:
        draft.arrive(Trigger.CHILDREN, action.name, Actor.CONTROLLER, target)


def _taken_back(draft: DecisionDraft, event: Children) -> None:
    """The children have undone what was asked of them; where one could not, the failure stays."""
    if not event.failed:
        draft.rolled_back()
        return
    if draft.now.state != draft.action.on_failure:
        trigger = Trigger.CHILDREN if draft.awaits is AwaitedParty.CHILDREN else Trigger.FAILED
        draft.move(trigger, draft.op.action, Actor.CONTROLLER, draft.action.on_failure)
    draft.finish(Outcome.FAILED)


def _partial(draft: DecisionDraft, policy: OnPartial) -> None:
    """Only some members of a new group came up, and the caller does not want to go on like that."""
    if policy is OnPartial.ROLLBACK:
        draft.roll_back()
        return
    draft.set_op(on_partial=OnPartial.CONTINUE)
    draft.members = REFINE
    draft.recount = True
