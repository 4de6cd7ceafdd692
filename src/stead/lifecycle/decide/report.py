"""An agent takes an order and says how it goes. Whoever speaks under an old fence is not heard."""

from __future__ import annotations

from stead.lifecycle.aggregate import implied_by_events
from stead.lifecycle.decide.draft import DecisionDraft, NoRow, refuse
from stead.lifecycle.decide.observe import on_seen
from stead.lifecycle.decision import Code, Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Report, Take
from stead.lifecycle.rows import Actor, Aggregation, AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import Phase, Snapshot, Work


def on_take(lc: Lifecycle, snap: Snapshot, take: Take) -> Decision | Rejection:
    """Custody of an order: for one agent, once."""
    if take.fence != snap.fence:
        return refuse(snap, Code.STALE, "the order was sent anew, taken by another or withdrawn")
    if snap.work is None or snap.work.taken:
        return refuse(snap, Code.TAKEN, "there is no order to be taken")
    draft = DecisionDraft(lc, snap)
    draft.set(work=Work(snap.work.verb, taken=True), fence=snap.fence.raised())
    return draft.decision()


def on_report(lc: Lifecycle, snap: Snapshot, report: Report) -> Decision | Rejection:
    """What an agent's word does."""
    try:
        if report.actor is Actor.SUCCESSOR:
            return _from_successor(lc, snap, report)
        if report.fence != snap.fence:
            return refuse(snap, Code.STALE, "the report was made under an old fence")
        if report.actor is Actor.CONTROLLER:
            return _from_controller(lc, snap, report)
        if report.actor is not Actor.AGENT:
            return refuse(snap, Code.NOT_THE_ACTOR, f"a {report.actor} has nothing to report")
        if report.kind is Trigger.OBSERVED:
            return on_seen(lc, snap, report.seen, report.revision)
        if snap.work is None or not snap.work.taken:
            return refuse(snap, Code.NOT_EXPECTED, "no agent has an order for it")
        return _from_agent(lc, snap, report)
    except NoRow as missing:
        return refuse(snap, Code.NOT_EXPECTED, missing.says)


def _from_agent(lc: Lifecycle, snap: Snapshot, report: Report) -> Decision | Rejection:
    draft = DecisionDraft(lc, snap)
    op = draft.op
    if report.kind is Trigger.STARTED:
        if op.phase is Phase.ACTING:
            for row in lc.rows(snap.state, Trigger.STARTED, op.action):
                draft.move(row.trigger, row.on, row.actor, row.target)
        return draft.decision()
    if op.phase is Phase.PROBING:  # a look that failed is as good as none
        if draft.action.checked and not op.attempt:
            draft.decline(Actor.AGENT)  # it was the look before anything was done
        else:
            draft.silence()
    elif op.phase is Phase.ROLLING_BACK:
        if report.kind is Trigger.SUCCEEDED:
            draft.rolled_back()
        else:
            draft.keep()
            draft.finish(Outcome.FAILED)
    elif report.kind is Trigger.SUCCEEDED:
        _done(draft)
    elif report.kind is Trigger.DECLINED and draft.action.checked:
        draft.decline(Actor.AGENT)
    elif report.kind in (Trigger.FAILED, Trigger.DECLINED):
        draft.fail(Trigger.FAILED, op.action, Actor.AGENT)
    else:
        return refuse(snap, Code.NOT_EXPECTED, f"{report.kind} is nothing that an agent reports")
    return draft.decision()


def _done(draft: DecisionDraft) -> None:
    """One verb is carried out: the next one, a look at what a forced action did, or the end."""
    op, action = draft.op, draft.action
    if op.step + 1 < len(action.verbs):
        draft.set_op(step=op.step + 1)
        draft.order(action.verbs[op.step + 1])
    elif op.forced and draft.can_probe():
        draft.set_op(overdue=True, said=True)
        draft.probe()
    else:
        target, _ = draft.follows()
        draft.arrive(Trigger.SUCCEEDED, op.action, Actor.AGENT, target)


def _from_controller(lc: Lifecycle, snap: Snapshot, report: Report) -> Decision | Rejection:
    """The controller's own work is done, or could not be; or its check said no."""
    op = snap.operation
    if op is None or op.phase is not Phase.ACTING or lc.state(snap.state).cls is not StateClass.TRANSITIONAL:
        return refuse(snap, Code.NOT_EXPECTED, "the controller has no step to do")
    draft = DecisionDraft(lc, snap)
    if report.kind is Trigger.DECLINED and draft.action.checked:
        draft.decline(Actor.CONTROLLER)
    elif report.kind is Trigger.FAILED:
        draft.fail(Trigger.FAILED, op.action, Actor.CONTROLLER)
    elif report.kind is Trigger.SUCCEEDED and draft.awaits is AwaitedParty.STEP:
        _step_done(draft, report)
    else:
        return refuse(snap, Code.NOT_EXPECTED, f"{report.kind} is nothing that the controller reports")
    return draft.decision()


def _step_done(draft: DecisionDraft, report: Report) -> None:
    """On to what follows; where that is the state that timed events imply, there."""
    target, last = draft.follows()
    if last and draft.lc.aggregation is Aggregation.EVENTS and draft.action.changes_spec:
        target = implied_by_events(dict(report.events))
        if target == draft.action.on_failure:
            draft.fail(Trigger.FAILED, draft.action.name, Actor.CONTROLLER)
            return
    draft.arrive(Trigger.NEXT, draft.action.name, Actor.CONTROLLER, target)


def _from_successor(lc: Lifecycle, snap: Snapshot, report: Report) -> Decision | Rejection:
    """The new agent of an upgrade speaks under its notify-id: it never had the order."""
    op = snap.operation
    if op is None or not snap.successor or report.notify != snap.successor:
        return refuse(snap, Code.STALE, "no new agent with that notify-id is expected")
    if report.kind is not Trigger.SUCCEEDED:
        return refuse(snap, Code.NOT_EXPECTED, "the new agent says only that it has taken over")
    draft = DecisionDraft(lc, snap)
    target, _ = draft.follows()
    draft.arrive(Trigger.SUCCEEDED, op.action, Actor.SUCCESSOR, target)
    draft.set(notify=snap.successor, successor=0, connected=True)
    return draft.decision()
