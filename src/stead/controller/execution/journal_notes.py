"""What the journal says where nothing moves: who said what, for a line whose state stays as it is."""

from __future__ import annotations

from typing import Any

from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.events import (
    Cancel,
    Children,
    Connected,
    Disconnected,
    Event,
    FullState,
    Report,
    Request,
    TimerDue,
)
from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Snapshot
from stead.store.decision_template import JournalNote

CANCEL = "cancel"


def why(lifecycle: Lifecycle, request: Request) -> dict[str, Any] | None:
    """What the journal keeps of the reason for a request that had to give one."""
    action = lifecycle.action(request.action)
    if request.force:
        return {"force": True, "reason": request.reason}
    return {"reason": request.reason} if action is not None and action.needs_reason else None


def note_of(snapshot: Snapshot, event: Event) -> JournalNote | None:
    """What was said; None of what nobody will want to know."""
    op = snapshot.hidden or snapshot.operation
    action = op.action if op is not None else ""
    match event:
        case Request():
            return JournalNote(Trigger.REQUEST, event.action, event.actor)
        case Cancel():
            meant = next((o for o in (snapshot.operation, op) if o is not None and o.id == event.operation), None)
            return JournalNote(CANCEL, meant.action if meant else "", event.actor, event.operation)
        case Report():
            return JournalNote(event.kind, event.seen or action, event.actor)
        case FullState():
            return JournalNote(Trigger.OBSERVED, event.seen, Actor.AGENT)
        case TimerDue():
            return JournalNote(Trigger.TIMED_OUT, action, Actor.CLOCK)
        case Children():
            return JournalNote(Trigger.CHILDREN, action, Actor.CONTROLLER)
        case Connected():
            return JournalNote(Trigger.CONNECTED, action, Actor.AGENT)
        case Disconnected():
            return JournalNote(Trigger.DISCONNECTED, action, Actor.AGENT)
    return None
