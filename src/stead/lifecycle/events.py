"""What can happen to a resource: the words that `decide` listens to."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from stead.lifecycle.rows import Actor, Trigger
from stead.lifecycle.snapshot import Fence, OnFailure, OnPartial


class OnConflict(StrEnum):
    """What the caller wants when another operation stands in the way."""

    DEFAULT = "default"
    """As the lifecycle says."""
    REJECT = "reject"
    QUEUE = "queue"


@dataclass(frozen=True, slots=True)
class Request:
    """Somebody asks for an action."""

    action: str
    actor: Actor = Actor.USER
    force: bool = False
    reason: str = ""
    hold: bool = False
    """Stop before the work itself and wait for continue or withdraw."""
    on_failure: OnFailure = OnFailure.ROLLBACK
    on_partial: OnPartial = OnPartial.CONTINUE
    on_conflict: OnConflict = OnConflict.DEFAULT
    revision: int = 0
    """Of the spec that the action brings, where it brings one."""
    within: bool = False
    """Asked of a member by its parent's operation: what the parent is in is no obstacle."""
    operation: str = ""
    """The id that the new operation is to have."""
    by: str = ""
    at: str = ""


@dataclass(frozen=True, slots=True)
class Cancel:
    """Somebody wants an operation to end, whatever has become of it by now."""

    operation: str
    """Its id."""
    actor: Actor = Actor.USER


@dataclass(frozen=True, slots=True)
class Take:
    """An agent got an order and wants custody of it."""

    fence: Fence


@dataclass(frozen=True, slots=True)
class Report:
    """An agent (or the controller, for its own steps) says what happened."""

    kind: Trigger
    """`started`, `succeeded`, `failed`, `declined` or `observed`."""
    fence: Fence
    seen: str = ""
    """With `observed`: what is there."""
    revision: int | None = None
    """With `observed`: the revision of the spec that is in force there, where that can be told."""
    actor: Actor = Actor.AGENT
    notify: int = 0
    """From an agent whose presence matters: the id under which it connected."""
    events: tuple[tuple[str, str], ...] = ()
    """With the controller's own `succeeded`, for a lease: its timed events by kind, each with its status."""


@dataclass(frozen=True, slots=True)
class FullState:
    """One object's line in the full state that an agent sends when it has connected."""

    fence: Fence
    """The last fence the agent knows for the object."""
    seen: str
    revision: int | None = None
    working: bool = False
    """Live work is behind it, under that fence."""
    complete: bool = True
    """The end mark of the same epoch has come; without it, absence says nothing."""


@dataclass(frozen=True, slots=True)
class TimerDue:
    """A timer is due."""

    timer: str
    operation: str = ""
    """The id of the operation that it may begin."""


@dataclass(frozen=True, slots=True)
class Children:
    """What the children amount to, counted by state."""

    counts: tuple[tuple[str, int], ...]
    remaining: int = 0
    """Children that the running operation still waits for."""
    failed: int = 0
    """Children that could not do what the running operation asked of them."""


@dataclass(frozen=True, slots=True)
class Connected:
    """An agent connected under a new notify-id."""

    notify: int
    successor: bool = False
    """It is the new agent of an upgrade."""
    operation: str = ""
    """The id of the operation that it may begin."""


@dataclass(frozen=True, slots=True)
class Disconnected:
    """The connection of that notify-id is gone."""

    notify: int


Event = Request | Cancel | Take | Report | FullState | TimerDue | Children | Connected | Disconnected
