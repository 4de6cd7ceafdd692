"""A timer is due: look, go on, give up, or send again. Late and repeated timers find nothing pending."""

from __future__ import annotations

from stead.lifecycle.decide.draft import DecisionDraft, NoRow, refuse
from stead.lifecycle.decide.request import on_request
from stead.lifecycle.decision import Code, Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Request, TimerDue
from stead.lifecycle.rows import PROBE, Actor, AwaitedParty, Trigger
from stead.lifecycle.snapshot import Phase, Snapshot
from stead.lifecycle.timers import pending


def on_due(lc: Lifecycle, snap: Snapshot, due: TimerDue) -> Decision | Rejection:
    """What a due timer does."""
    if due.timer not in pending(lc, snap):
        return refuse(snap, Code.NOT_DUE, f"no timer {due.timer} runs for it")
    if due.timer == "expiry":
        expires = lc.state(snap.state).expiry
        assert expires is not None
        return on_request(lc, snap, Request(expires.action, Actor.CLOCK, operation=due.operation, by="clock"))
    draft = DecisionDraft(lc, snap)
    draft.fired = due.timer
    try:
        match due.timer:
            case "deadline":
                deadline(draft)
            case "custody":
                _custody(draft)
            case "resend":
                assert snap.work is not None
                draft.order(snap.work.verb, again=True)
            case "fenced":
                _fenced(draft)
            case "again":
                draft.order(PROBE)
            case "next":
                target, _ = draft.follows()
                draft.arrive(Trigger.NEXT, draft.op.action, Actor.CONTROLLER, target)
            case "step":
                draft.take_step()
            case "hold":
                draft.roll_back()
    except NoRow as missing:
        return refuse(snap, Code.NOT_EXPECTED, missing.says)
    return draft.decision()


def deadline(draft: DecisionDraft) -> None:
    """Time is up. What awaits children is counted anew; what awaits an agent is looked at; a look is given up.

    A controller's own step is taken up once more: that it was not done may be because nobody was there to do it. What
    outranks others, and only looked at what it took over, acts: nobody can keep it off by being on the way for ever.
    """
    snap = draft.now
    op = snap.hidden or snap.operation
    if op is None or draft.awaits is AwaitedParty.CHILDREN:
        draft.recount = True
    elif draft.awaits is AwaitedParty.STEP and op.phase is Phase.ACTING and not (op.overdue or op.cancelled):
        draft.set_op(overdue=True)
        draft.take_step()
    elif op.phase is Phase.PROBING and not (op.attempt or op.overdue) and draft.action.preempts:
        draft.set_op(phase=Phase.ACTING, attempt=1)
        draft.order(draft.action.verbs[0])
    elif op.phase is Phase.PROBING or draft.awaits in (AwaitedParty.CONTROLLER, AwaitedParty.STEP):
        draft.silence()
    elif snap.work is not None and snap.work.taken:
        draft.fence_off(op.phase if op.phase is Phase.ROLLING_BACK else Phase.PROBING, overdue=True)
    elif op.phase is Phase.ROLLING_BACK:
        draft.gave_up = True
        draft.keep()
        draft.finish(Outcome.FAILED)
    else:
        draft.look()


def _fenced(draft: DecisionDraft) -> None:
    """Whoever was at work can no longer act."""
    op = draft.op
    if op.then is Phase.ROLLING_BACK:
        draft.keep()
        draft.finish(Outcome.FAILED)
    elif op.then is Phase.ACTING:
        draft.enter()
    elif op.overdue:
        draft.look()
    else:
        draft.probe()


def _custody(draft: DecisionDraft) -> None:
    """Whoever took the order has gone silent: ask again, or look before anything is done twice."""
    work = draft.now.work
    assert work is not None
    if draft.op.phase is Phase.ACTING and draft.can_probe():
        draft.probe()
    else:
        draft.order(work.verb, again=True)
