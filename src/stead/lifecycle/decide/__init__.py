"""What happens next: one pure function over a lifecycle, a snapshot and an event.

`decide` is the only place where it is settled whether something may happen and what follows from it. It reads
nothing but its arguments and changes nothing; the store writes what it answers, by compare-and-set. The same code
runs in production and under the explorer.
"""

from __future__ import annotations

from typing import overload

from stead.lifecycle.decide.cancel import on_cancel
from stead.lifecycle.decide.children import on_children
from stead.lifecycle.decide.due import on_due
from stead.lifecycle.decide.group import Group, GroupDecision, on_group
from stead.lifecycle.decide.observe import on_full_state
from stead.lifecycle.decide.presence import on_connected, on_disconnected
from stead.lifecycle.decide.report import on_report, on_take
from stead.lifecycle.decide.request import on_request
from stead.lifecycle.decision import Decision, Rejection
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
    Take,
    TimerDue,
)
from stead.lifecycle.snapshot import Snapshot

__all__ = ["Group", "GroupDecision", "decide"]


@overload
def decide(lifecycle: Lifecycle, snapshot: Snapshot, event: Event) -> Decision | Rejection: ...
@overload
def decide(lifecycle: Lifecycle, snapshot: Group, event: Request) -> GroupDecision | Rejection: ...


def decide(lifecycle: Lifecycle, snapshot: Snapshot | Group, event: Event) -> Decision | GroupDecision | Rejection:
    """What an event does to a resource, or to a group by the classes of its members."""
    match snapshot, event:
        case Group(), Request():
            return on_group(lifecycle, snapshot, event)
        case Snapshot(), Request():
            return on_request(lifecycle, snapshot, event)
        case Snapshot(), Cancel():
            return on_cancel(lifecycle, snapshot, event)
        case Snapshot(), Take():
            return on_take(lifecycle, snapshot, event)
        case Snapshot(), Report():
            return on_report(lifecycle, snapshot, event)
        case Snapshot(), FullState():
            return on_full_state(lifecycle, snapshot, event)
        case Snapshot(), TimerDue():
            return on_due(lifecycle, snapshot, event)
        case Snapshot(), Children():
            return on_children(lifecycle, snapshot, event)
        case Snapshot(), Connected():
            return on_connected(lifecycle, snapshot, event)
        case Snapshot(), Disconnected():
            return on_disconnected(lifecycle, snapshot, event)
    raise TypeError(f"no decision on {type(snapshot).__name__} and {type(event).__name__}")
