"""Somebody asks for an action: begin it, join it, wait for it, take over, or say why not."""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.decide.draft import DecisionDraft, NoRow, acts_as, refuse
from stead.lifecycle.decision import ClaimChange, Code, Decision, EndedOperation, Outcome, Reason, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.observation import OBSERVING, unobservable
from stead.lifecycle.rows import Action, Actor, AwaitedParty, StateClass, Trigger
from stead.lifecycle.snapshot import Holder, OnPartial, Operation, Phase, Snapshot
from stead.lifecycle.table import entry

UNDO = "undo"
"""Every kind whose actions can be undone understands this: do now what the error was kept for."""

USE = "use"
"""What somebody does who has a claim of intention for as long as it lives, and no operation."""

RETRY = 15
"""Seconds after which asking again makes sense, while something else goes on."""


def on_request(lc: Lifecycle, snap: Snapshot, req: Request) -> Decision | Rejection:
    """What a request does; where it is rejected, with what the actor could ask for instead."""
    answer = _on_request(lc, snap, req)
    if isinstance(answer, Rejection):
        return replace(answer, allowed=allowed(lc, snap, req.actor))
    return answer


def _on_request(lc: Lifecycle, snap: Snapshot, req: Request) -> Decision | Rejection:
    if req.action == UNDO and lc.action(UNDO) is None:
        return _undo(lc, snap, req)
    action = lc.action(req.action)
    if action is None and req.action in OBSERVING:
        return refuse(snap, Code.UNKNOWN_ACTION, unobservable(lc.kind))
    if action is None:
        known = ", ".join(a.name for a in lc.actions)
        return refuse(snap, Code.UNKNOWN_ACTION, f"{lc.kind} has no action {req.action}; it has {known}")
    refusal = _may_ask(lc, snap, action, req)
    if refusal is not None:
        return refusal
    if action.signals:
        return _steer(lc, snap, action, req)
    running = snap.operation
    if running is not None:
        return _meet(lc, snap, running, action, req)
    if snap.hidden is not None and action.hidden:
        return _conflict(lc, snap, _holder(snap.hidden), action, req)
    passes = (action.preempts or leaves_out(action, req)) and snap.blocked is not None and snap.blocked.below
    if snap.blocked is not None and snap.hidden is None and not passes:
        return _conflict(lc, snap, snap.blocked, action, req)
    if snap.state in action.idle:
        return Decision(after=snap, ended=(EndedOperation(action.name, Outcome.SUCCEEDED, req.operation),))
    if action.scoped:
        return _beside(lc, snap, action, req)
    return begin(lc, snap, action, req)


def allowed(lc: Lifecycle, snap: Snapshot, actor: Actor) -> tuple[str, ...]:
    """The actions that would be accepted from the actor now, without force, and would begin something."""
    undo = () if lc.action(UNDO) is not None else (UNDO,)
    names = (*(action.name for action in lc.actions), *undo)
    return tuple(name for name in names if begins(_on_request(lc, snap, offered(name, actor))))


def offered(action: str, actor: Actor) -> Request:
    """The request by which it is found out whether an action is one to offer."""
    return Request(action, actor, reason="offered", on_conflict=OnConflict.REJECT)


def leaves_out(action: Action, req: Request) -> bool:
    """Whether members that other operations hold are left out; a caller who chose to queue waits for them instead."""
    return action.skips_claimed and req.on_conflict is not OnConflict.QUEUE


def begins(answer: Decision | Rejection) -> bool:
    """Whether an answer begins something, other than to join what is in progress or to find nothing to do."""
    if isinstance(answer, Rejection) or answer.joined or answer.queued:
        return False
    idle = answer.ended and not answer.transitions and answer.after.operation is None
    return not idle


def begin(lc: Lifecycle, snap: Snapshot, action: Action, req: Request) -> Decision | Rejection:
    """Start an operation, if the state allows it."""
    draft = DecisionDraft(lc, snap)
    creates = lc.state(snap.state).cls is StateClass.ABSENT
    op = Operation(
        action=action.name,
        origin=snap.state,
        attempt=0 if lc.state(snap.state).probe_first or action.spares else 1,
        forced=req.force and snap.state not in action.source,
        hold=req.hold,
        on_failure=req.on_failure,
        on_partial=req.on_partial if creates else OnPartial.CONTINUE,
        id=req.operation,
        by=req.by,
        since=req.at,
    )
    waits = snap.hidden is not None
    first = entry(action)
    try:
        if first and first != snap.state:
            draft.move(Trigger.REQUEST, action.name, req.actor, first, forced=req.force)
        elif snap.state not in action.source:
            raise NoRow(snap.state)
    except NoRow:
        return wrong_state(lc, snap, req)
    if not (action.via or action.verbs or action.member_action):
        return _at_once(draft, action, req)
    if action.changes_spec:
        draft.set(revision=req.revision)
    if waits:
        draft.set(operation=replace(op, phase=Phase.WAITING))
        return draft.decision()
    draft.set(**{"hidden" if action.hidden else "operation": op})
    draft.claims.append(ClaimChange.TAKE)
    passes = snap.blocked is not None and snap.blocked.below
    leaves = leaves_out(action, req)
    cancels = passes and not leaves  # it outranks what goes on below
    if cancels and not any(a.scoped for a in lc.actions):
        draft.fence_off(Phase.ACTING)
    else:  # whatever ran beside others is over, and what it asked for is taken over one by one
        draft.enter()
    return draft.decision(cancels=cancels, leaves_out=passes and leaves)


def _at_once(draft: DecisionDraft, action: Action, req: Request) -> Decision:
    """A word that changes the state at once, and is done. A site that nobody is connected to goes offline with it."""
    draft.ended.append(EndedOperation(action.name, Outcome.SUCCEEDED, req.operation))
    if draft.lc.presence and not draft.now.connected:
        for row in draft.lc.rows(draft.now.state, Trigger.DISCONNECTED, "connect"):
            draft.move(row.trigger, row.on, row.actor, row.target)
    return draft.decision()


def _beside(lc: Lifecycle, snap: Snapshot, action: Action, req: Request) -> Decision | Rejection:
    """An operation that runs beside others: its claim is on a path below, and nothing moves here."""
    if snap.state not in action.source:
        return wrong_state(lc, snap, req)
    return Decision(after=snap, claims=(ClaimChange.TAKE,), beside=True)


def _may_ask(lc: Lifecycle, snap: Snapshot, action: Action, req: Request) -> Rejection | None:
    """Everything that speaks against a request before the state is looked at."""
    reasons: list[Reason] = []
    if not _its_actor(lc, snap, action, req.actor):
        who = " or ".join(action.actors) or "nobody by request"
        reasons.append(Reason(Code.NOT_THE_ACTOR, f"{action.name} is for {who}, not for {req.actor}"))
    if req.force and not action.forceable:
        reasons.append(Reason(Code.NOT_FORCEABLE, f"{action.name} cannot be forced"))
    if req.force and action.forceable and not req.reason:
        reasons.append(Reason(Code.NEEDS_REASON, "force needs a reason"))
    elif action.needs_reason and not req.reason:
        reasons.append(Reason(Code.NEEDS_REASON, f"{action.name} needs a reason"))
    if action.empty_only and snap.children:
        reasons.append(Reason(Code.NOT_EMPTY, _remain(lc, snap.children)))
    if lc.presence and action.preempts and snap.connected:  # what it would take over from is not over
        reasons.append(Reason(Code.WRONG_STATE, f"its agent is connected; {action.name} is for one that is away"))
    if snap.over:
        reasons.append(Reason(Code.QUOTA, snap.over))
    unmet = _needs(lc, snap, req)
    if not reasons and not unmet:
        return None
    return Rejection((*reasons, *unmet), snap.state, (), snap.blocked)


def _remain(lc: Lifecycle, count: int) -> str:
    """What is still in something, or on it."""
    if lc.occupants:
        return f"{count} {lc.occupants}{'s' if count != 1 else ''} remain on it"
    return f"{count} resource{'s remain' if count != 1 else ' remains'} below it"


def _needs(lc: Lifecycle, snap: Snapshot, req: Request) -> list[Reason]:
    """What is not as it has to be for a change to be accepted: ancestors, and what the spec names."""
    trusted = req.within or req.actor is Actor.CONTROLLER
    above = dict(snap.above)
    says = "its {} is {}; changes are accepted while that is {}"
    needs = [n for n in lc.preconditions if (n.field or not trusted) and (not n.actions or req.action in n.actions)]
    unmet = [n for n in needs if n.kind in above and above[n.kind] not in n.states]
    told = [(n.kind, above[n.kind] or "not there", " or ".join(n.states)) for n in unmet]
    return [Reason(Code.PARENT, says.format(*words)) for words in told]


def _its_actor(lc: Lifecycle, snap: Snapshot, action: Action, actor: Actor) -> bool:
    """Whether the action is the actor's to ask for: anywhere, or by a row of this very state."""
    rows = lc.rows(snap.state, Trigger.REQUEST, action.name)
    return any(acts_as(actor, by) for by in (*action.actors, *(row.actor for row in rows)))


def _meet(lc: Lifecycle, snap: Snapshot, running: Operation, action: Action, req: Request) -> Decision | Rejection:
    """Another operation is running: join it, take over, or be refused."""
    if running.action == action.name and action.joins and running.phase is not Phase.ROLLING_BACK:
        return Decision(after=snap, joined=True)
    other = lc.action(running.action)
    if action.preempts and other is not None and not other.preempts:
        return _take_over(lc, snap, running, action, req)
    return _conflict(lc, snap, _holder(running), action, req)


def _take_over(
    lc: Lifecycle, snap: Snapshot, running: Operation, action: Action, req: Request
) -> Decision | Rejection:
    """Recorded phases, each repeatable: fence off, wait out custody, look what is there, act."""
    draft = DecisionDraft(lc, snap)
    first = entry(action)
    try:
        if first:
            draft.move(Trigger.REQUEST, action.name, req.actor, first)
    except NoRow:
        return wrong_state(lc, snap, req)
    for gone in (snap.hidden, running):
        if gone is not None:
            draft.ended.append(EndedOperation(gone.action, Outcome.PREEMPTED, gone.id))
    if snap.revision != snap.previous:
        draft.set(revision=snap.previous)
    if not (action.via or action.verbs or action.member_action):
        draft.set(operation=None, hidden=None)
        draft.withdraw()
        draft.claims.append(ClaimChange.RELEASE)
        return _at_once(draft, action, req)
    origin = running.origin if lc.state(snap.state).cls is StateClass.TRANSITIONAL else snap.state
    op = Operation(
        action=action.name,
        origin=origin,
        attempt=0,
        on_failure=req.on_failure,
        id=req.operation,
        by=req.by,
        since=req.at,
    )
    draft.set(operation=op, hidden=None)
    draft.claims.append(ClaimChange.HAND_OVER)
    somebody_acts = (snap.work is not None and snap.work.taken) or running.phase is Phase.FENCING
    if not action.verbs:
        draft.withdraw()
        draft.enter()
    elif somebody_acts:
        draft.fence_off(Phase.PROBING)
    else:
        draft.probe()
    return draft.decision()


def _steer(lc: Lifecycle, snap: Snapshot, action: Action, req: Request) -> Decision | Rejection:
    """A word to an operation: go on with what is held, or give up what has not begun its work."""
    op = snap.operation
    phases = (Phase.HELD,) if action.via else (Phase.HELD, Phase.ACTING)
    if op is None or op.action != action.signals or op.phase not in phases or snap.state not in action.source:
        return wrong_state(lc, snap, req)
    draft = DecisionDraft(lc, snap)
    if action.via:
        draft.set_op(hold=False)
        draft.move(Trigger.REQUEST, action.name, req.actor, action.via[0])
        draft.enter()
    else:
        if op.phase is Phase.ACTING:
            draft.withdraw()  # the controller may be at a step of it, and stops
        draft.roll_back()
    return draft.decision()


def _undo(lc: Lifecycle, snap: Snapshot, req: Request) -> Decision | Rejection:
    """Take back a failure that was kept for a person."""
    if req.actor not in (Actor.USER, Actor.ADMIN, Actor.CONTROLLER):
        return refuse(snap, Code.NOT_THE_ACTOR, f"undo is for user or controller, not for {req.actor}")
    if snap.operation is not None or snap.hidden is not None:
        holder = snap.operation or snap.hidden
        assert holder is not None
        return _conflict(lc, snap, _holder(holder), None, req)
    if snap.blocked is not None:
        return _conflict(lc, snap, snap.blocked, None, req)
    needs = _needs(lc, snap, req)
    if needs:
        return Rejection(tuple(needs), snap.state)
    action = _failed(lc, snap)
    if action is None:
        return wrong_state(lc, snap, req)
    origin = snap.kept[1] if snap.kept else action.source[0]
    draft = DecisionDraft(lc, snap)
    draft.set(operation=Operation(action.name, origin=origin, id=req.operation, by=req.by, since=req.at))
    draft.claims.append(ClaimChange.TAKE)
    draft.roll_back()
    return draft.decision()


def _failed(lc: Lifecycle, snap: Snapshot) -> Action | None:
    """The action whose failure is to be taken back: the one that is remembered, or the only one it can have been."""
    if snap.kept is not None:
        return lc.action(snap.kept[0])
    found = [a for a in lc.actions if a.on_failure == snap.state and lc.rows(snap.state, Trigger.ROLLED_BACK, a.name)]
    return found[0] if len(found) == 1 else None


def _conflict(
    lc: Lifecycle, snap: Snapshot, holder: Holder, action: Action | None, req: Request
) -> Decision | Rejection:
    by_default = action is not None and action.queues
    if req.on_conflict is OnConflict.QUEUE or (req.on_conflict is OnConflict.DEFAULT and by_default):
        return Decision(after=snap, queued=True)
    since = f" since {holder.since}" if holder.since else ""
    who = f" by {holder.by}" if holder.by else ""
    says = f"it is in use{who}" if holder.action == USE else f"{holder.action}{who} is under way{since}"
    moving = lc.state(snap.state).cls is StateClass.TRANSITIONAL and not (action is not None and action.scoped)
    code = Code.IN_PROGRESS if moving else Code.HELD
    return Rejection((Reason(code, says),), snap.state, (), holder, RETRY)


def _holder(op: Operation) -> Holder:
    return Holder(operation=op.id, action=op.action, path="", by=op.by, since=op.since)


def wrong_state(lc: Lifecycle, snap: Snapshot, req: Request, *, could_be_forced: bool = False) -> Rejection:
    """That an action cannot start in the state that the resource is in."""
    says = f"{req.action} cannot start in {snap.state}"
    rows = lc.rows(snap.state, Trigger.REQUEST, req.action)
    if not req.force and (could_be_forced or any(row.forced for row in rows)):
        says += "; it could be forced, with a reason"
    state = lc.state(snap.state)
    moving = state.cls is StateClass.TRANSITIONAL
    retry = RETRY if moving and state.awaits is not AwaitedParty.CONTROLLER else None
    return Rejection((Reason(Code.WRONG_STATE, says),), snap.state, (), snap.blocked, retry)
