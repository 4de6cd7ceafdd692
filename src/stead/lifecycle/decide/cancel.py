"""Somebody cancels an operation: its deadline comes early.

Nothing is torn out of anybody's hands. Whoever has custody is fenced off and waited out, the object is looked at, and
the resource settles to what is true; only the outcome says that somebody wanted it so. What turns out done is done.
"""

from __future__ import annotations

from dataclasses import replace

from stead.lifecycle.decide.draft import DecisionDraft, NoRow, acts_as, awaited, refuse
from stead.lifecycle.decide.due import deadline
from stead.lifecycle.decision import Code, Decision, Rejection
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import Cancel
from stead.lifecycle.rows import Action, Actor, Aggregation, AwaitedParty
from stead.lifecycle.snapshot import Operation, Phase, Snapshot


def on_cancel(lc: Lifecycle, snap: Snapshot, cancel: Cancel) -> Decision | Rejection:
    """What the wish to end an operation does."""
    op = next((o for o in (snap.operation, snap.hidden) if o is not None and o.id == cancel.operation), None)
    action = lc.action(op.action) if op is not None else None
    if op is None or action is None:
        return refuse(snap, Code.ENDED, f"operation {cancel.operation} is not under way any more")
    if not action.actors:
        return refuse(snap, Code.NOT_CANCELLABLE, f"nobody asked for {op.action}, so nobody can cancel it")
    if not _may(action, cancel.actor):
        who = " or ".join(by for by in action.actors if by in (Actor.USER, Actor.ADMIN)) or Actor.ADMIN
        return refuse(snap, Code.NOT_THE_ACTOR, f"to cancel {op.action} is for {who}, not for {cancel.actor}")
    if op.cancelled:
        return Decision(after=snap, joined=True)
    if op.undoes:
        return refuse(snap, Code.NOT_CANCELLABLE, f"{op.action} is being undone already")
    draft = DecisionDraft(lc, snap)
    if awaited(lc, action, snap.state) is AwaitedParty.CHILDREN:
        return _with_members(draft, op)
    if op.phase is Phase.WAITING:  # what it waits for goes on; then nothing is begun
        draft.set(operation=replace(op, cancelled=True))
        return draft.decision()
    try:
        _end_early(draft, op)
    except NoRow as missing:
        return refuse(snap, Code.NOT_CANCELLABLE, missing.says)
    return draft.decision()


def _with_members(draft: DecisionDraft, op: Operation) -> Decision | Rejection:
    """No further member is asked, and those at work are cancelled; when the last has come to rest, so has it."""
    _, last = draft.follows()
    if not last or draft.lc.aggregation is not Aggregation.DOMINANT:
        says = f"{op.action} waits for others to follow, and cannot be cancelled as a whole yet"
        return refuse(draft.before, Code.NOT_CANCELLABLE, says)
    draft.set_op(cancelled=True)
    return draft.decision(cancels=True)


def _may(action: Action, actor: Actor) -> bool:
    """Whoever may ask for the action may cancel it, and an admin may always."""
    return actor is Actor.ADMIN or (actor is Actor.USER and any(acts_as(actor, by) for by in action.actors))


def _end_early(draft: DecisionDraft, op: Operation) -> None:
    draft.set_op(cancelled=True)
    if op.phase is Phase.HELD:
        draft.roll_back()
    elif op.phase is Phase.FENCING:
        draft.set_op(overdue=True, then=Phase.PROBING)
    elif op.phase is Phase.PROBING:  # a look is under way, and it will be the last
        draft.set_op(overdue=True)
    else:
        deadline(draft)
