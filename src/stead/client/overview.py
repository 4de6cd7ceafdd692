"""Much at a glance, as a server answers with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from stead.client.models import Operation


@dataclass(frozen=True, slots=True, kw_only=True)
class KindCount:
    """Resources of one kind in one state."""

    kind: str
    state: str
    state_class: str
    health: str
    members: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Troubled:
    """A resource that somebody should look at, and why."""

    path: str
    kind: str
    state: str
    state_class: str
    since: datetime | None = None
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledLane:
    """A lane on which a provider has refused calls because there were too many."""

    lane: str
    calls: int
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeNode:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePage:
    """A page of what lies directly below a path, the worst first."""

    items: tuple[TreeNode, ...]
    next: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelinePhase:
    """A state that a member came into."""

    state: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineBar:
    """A member of an operation in time."""

    path: str
    kind: str
    begin: datetime
    end: datetime | None = None
    origin: str = ""
    phases: tuple[TimelinePhase, ...] = ()
    outcome: str | None = None
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineError:
    """Why members did not do what was asked."""

    outcome: str
    says: str
    members: int
    path: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What an operation did and when."""

    operation: Operation
    now: datetime
    total: int
    items: tuple[TimelineBar, ...]
    next: str | None = None
    errors: tuple[TimelineError, ...] = ()
