"""Somebody looked at what is really there: an answer to a probe, an unasked look, or an agent's full state.

Absence is observed, never assumed: one look that misses an object counts as a miss, and only so many in a row make
it gone. Looks that come in under an old fence were made before something else happened and say nothing.
"""

from __future__ import annotations

from stead.lifecycle.decide.draft import DecisionDraft, NoRow, refuse
from stead.lifecycle.decision import Code, Decision, Outcome, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import FullState
from stead.lifecycle.observation import ACCEPT, accepted
from stead.lifecycle.rows import ABSENT, BROKEN, PROBE, Actor, Trigger
from stead.lifecycle.snapshot import Phase, Snapshot
from stead.lifecycle.table import truth

RUN_AGAIN = 2
"""What was requested and never started is run so many times more."""


def on_seen(lc: Lifecycle, snap: Snapshot, seen: str, revision: int | None) -> Decision | Rejection:
    """What a look at the object does."""
    op = snap.hidden or snap.operation
    if op is None:
        return _unasked(lc, snap, seen, revision)
    probing = op.phase is Phase.PROBING
    undoing = op.phase is Phase.ROLLING_BACK and snap.work is not None and snap.work.verb == PROBE
    if not (probing or undoing):
        return refuse(snap, Code.NOT_EXPECTED, f"{op.action} is under way, and nobody asked for a look")
    draft = DecisionDraft(lc, snap)
    if probing and not op.attempt and draft.action.spares:
        _before(draft, seen)
    elif seen == ABSENT and snap.misses + 1 < lc.absence_threshold:
        draft.set(misses=snap.misses + 1)
        draft.withdraw()
    elif undoing:
        _answer_to_undo(draft, seen)
    elif draft.action.observes:
        _record(draft, seen, revision)
    else:
        _answer(draft, seen, revision)
    return draft.decision()


def on_full_state(lc: Lifecycle, snap: Snapshot, line: FullState) -> Decision | Rejection:
    """One object's line in what an agent has, after it connected."""
    if line.fence != snap.fence:
        return refuse(snap, Code.STALE, "the agent had not heard the latest order when it looked")
    if line.seen == ABSENT and not line.complete:
        return refuse(snap, Code.NOT_EXPECTED, "absence says nothing before the end mark")
    work = snap.work
    if work is not None and work.taken:
        if line.working:
            return Decision(after=snap)
        return refuse(snap, Code.TAKEN, "the custody of the one who had the order has to run out first")
    try:
        if work is not None and work.verb != PROBE:
            draft = DecisionDraft(lc, snap)  # what was requested is run again
            draft.order(work.verb, again=True)
            return draft.decision()
        return on_seen(lc, snap, line.seen, line.revision)
    except NoRow as missing:
        return refuse(snap, Code.NOT_EXPECTED, missing.says)


def judged(snap: Snapshot, seen: str, revision: int | None) -> str:
    """What a look that nobody asked for amounts to: what is there, but not as its spec says, is broken."""
    other = revision is not None and revision != snap.revision
    return BROKEN if other and seen not in (ABSENT, BROKEN) else seen


def _unasked(lc: Lifecycle, snap: Snapshot, seen: str, revision: int | None) -> Decision | Rejection:
    """Nothing is going on: either all is as believed, or it has drifted."""
    state = lc.state(snap.state)
    draft = DecisionDraft(lc, snap)
    seen = judged(snap, seen, revision)
    if state.observed_as == seen:
        draft.set(misses=0)
        return draft.decision()
    if state.observed_as == ABSENT:
        return refuse(snap, Code.ORPHAN, f"the provider has it as {seen}, and nobody owns it")
    target = lc.drifted(snap.state, seen)
    if not target:
        return refuse(snap, Code.NOT_EXPECTED, f"{snap.state} is not left for being seen {seen}")
    if seen == ABSENT and snap.misses + 1 < lc.absence_threshold:
        draft.set(misses=snap.misses + 1, fence=snap.fence.raised())
        return draft.decision()
    draft.move(Trigger.OBSERVED, seen, Actor.AGENT, target)
    draft.set(misses=0, fence=snap.fence.raised())
    return draft.decision()


def _before(draft: DecisionDraft, seen: str) -> None:
    """The observation with which an action begins that spares what is well, or that was cancelled meanwhile."""
    if draft.op.cancelled or seen in draft.action.spares:
        if not draft.op.cancelled:
            draft.says = f"{draft.action.name} spares what is seen as {seen}; {ACCEPT} makes that the recorded state"
        draft.decline(Actor.AGENT)
    else:
        draft.set_op(phase=Phase.ACTING, attempt=1)
        draft.order(draft.action.verbs[0])


def _record(draft: DecisionDraft, seen: str, revision: int | None) -> None:
    """The answer to an observation that a user asked for: record it as far as that was wanted."""
    lc, now = draft.lc, draft.now
    accepts = draft.action.name == ACCEPT and not draft.op.cancelled
    draft.set(misses=0)
    if accepts and now.revision != now.previous and revision in (now.revision, now.previous):
        draft.set(revision=revision, previous=revision)  # the spec that is in force there is recorded as well
    seen = judged(draft.now, seen, revision)
    as_recorded = lc.state(now.state).observed_as == seen
    target, trigger = lc.drifted(now.state, seen), Trigger.OBSERVED
    certain = draft.now.revision == draft.now.previous
    if accepts and not target and certain:
        target, trigger = accepted(lc, now.state, seen), Trigger.ACCEPTED
    if target and not as_recorded:
        draft.move(trigger, seen, Actor.AGENT, target)
        draft.set(fence=draft.now.fence.raised())
    wanted = draft.action.name != ACCEPT or target or as_recorded
    draft.finish(Outcome.SUCCEEDED if wanted else Outcome.FAILED)


def _answer(draft: DecisionDraft, seen: str, revision: int | None) -> None:
    """The answer to a probe: done, or once more, or settle to what is true."""
    lc, op, action, now = draft.lc, draft.op, draft.action, draft.now
    target, _ = draft.follows()
    reached = lc.state(target).observed_as == seen
    if action.changes_spec and reached and revision is not None:
        reached, certain = revision == now.revision, revision == now.revision
    else:
        certain = reached and (op.said or lc.state(op.origin).observed_as != seen)
    if certain:
        draft.arrive(Trigger.OBSERVED, seen, Actor.AGENT, target)
        return
    requested = bool(lc.rows(now.state, Trigger.STARTED, op.action))
    attempts = action.attempts + (RUN_AGAIN if requested else 0)
    if not op.overdue and op.attempt < attempts:
        draft.set_op(phase=Phase.ACTING, attempt=op.attempt + 1, step=0)
        draft.set(misses=0)
        draft.order(action.verbs[0])
        return
    if now.hidden is not None:
        draft.finish(Outcome.UNKNOWN)
        return
    if action.changes_spec and revision is None:
        draft.silence()  # it is there, and nobody can say with which spec
        return
    true = truth(lc, action, op.origin, target, seen, lc.state(now.state))
    if true == action.on_failure and true != target:
        draft.fail(Trigger.OBSERVED, seen, Actor.AGENT)
    elif reached:  # as it would be either way: nobody can say whether it was done
        draft.arrive(Trigger.OBSERVED, seen, Actor.AGENT, true, Outcome.UNKNOWN)
    else:
        draft.drop_spec()
        draft.arrive(Trigger.OBSERVED, seen, Actor.AGENT, true, Outcome.FAILED)


def _answer_to_undo(draft: DecisionDraft, seen: str) -> None:
    """A failed action whose undo is a look: whole again, gone after all, or left for a person."""
    lc, now, action = draft.lc, draft.now, draft.action
    rows = lc.rows(now.state, Trigger.ROLLED_BACK, action.name)
    if rows and lc.state(rows[0].target).observed_as == seen:
        draft.rolled_back()
        return
    gone = lc.drifted(now.state, seen)
    if gone:
        draft.move(Trigger.OBSERVED, seen, Actor.AGENT, gone)
        draft.finish(Outcome.SUCCEEDED)
    else:
        draft.keep()
        draft.finish(Outcome.FAILED)
