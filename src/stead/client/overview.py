"""Much at a glance, as a server answers with it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from stead.client.models import Operation


class KindCount(Struct, frozen=True, kw_only=True):
    """Resources of one kind in one state."""

    kind: str
    state: str
    state_class: str
    health: str
    members: int


class Troubled(Struct, frozen=True, kw_only=True):
    """A resource that somebody should look at, and why."""

    path: str
    kind: str
    state: str
    state_class: str
    since: datetime | None = None
    why: str = ""


class ThrottledLane(Struct, frozen=True, kw_only=True):
    """A lane on which a provider has refused calls because there were too many."""

    lane: str
    calls: int
    at: datetime | None = None


class Overview(Struct, frozen=True, kw_only=True):
    """The cell at a glance."""

    at: datetime
    position: int
    counts: tuple[KindCount, ...]
    classes: dict[str, int]
    under_way: int
    waiting: int
    trouble: tuple[Troubled, ...] = ()
    more_trouble: bool = False
    calls_made: int | None = 0
    calls_saved: int | None = 0
    moves: tuple[int, ...] | None = ()
    """In each of the last 60 seconds, the oldest first."""
    agents_there: int | None = 0
    agents_away: int | None = 0
    throttled: tuple[ThrottledLane, ...] = ()


class TreeNode(Struct, frozen=True, kw_only=True):
    """A resource, or only a part of paths, with how all that is below it stands."""

    name: str
    path: str
    kind: str | None = None
    state: str | None = None
    state_class: str | None = None
    health: str = ""
    worst: str = ""
    total: int = 0
    counts: dict[str, dict[str, int]] = field(default_factory=dict)


class TreePage(Struct, frozen=True, kw_only=True):
    """A page of what lies directly below a path, the worst first."""

    items: tuple[TreeNode, ...]
    next: str | None = None


class TimelinePhase(Struct, frozen=True, kw_only=True):
    """A state that a member came into."""

    state: str
    at: datetime


class TimelineBar(Struct, frozen=True, kw_only=True):
    """A member of an operation in time."""

    path: str
    kind: str
    begin: datetime
    end: datetime | None = None
    origin: str = ""
    phases: tuple[TimelinePhase, ...] = ()
    outcome: str | None = None
    says: str = ""


class TimelineError(Struct, frozen=True, kw_only=True):
    """Why members did not do what was asked."""

    outcome: str
    says: str
    members: int
    path: str = ""


class Timeline(Struct, frozen=True, kw_only=True):
    """What an operation did and when."""

    operation: Operation
    now: datetime
    total: int
    items: tuple[TimelineBar, ...]
    next: str | None = None
    errors: tuple[TimelineError, ...] = ()
