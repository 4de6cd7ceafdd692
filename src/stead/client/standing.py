"""How a group stands, as a server answers with it."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct, field

from stead.client.models import Operation, Resource


class StandingPart(Struct, frozen=True, kw_only=True):
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    lane: str = ""
    text: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


class WorstMember(Struct, frozen=True, kw_only=True):
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime | None = None
    says: str = ""


class StandingUnobserved(Struct, frozen=True, kw_only=True):
    """Members in one state that a refresh has not observed, and why."""

    state: str
    why: str
    members: int
    oldest: datetime | None = None


class StandingObserved(Struct, frozen=True, kw_only=True):
    """What a refresh has observed, and what it has not."""

    members: int
    calls: int = 0
    saved: int = 0
    left: tuple[StandingUnobserved, ...] = ()


class Standing(Struct, frozen=True, kw_only=True):
    """How a group stands."""

    resource: Resource
    text: str
    counts: dict[str, int]
    settled: bool
    target_action: str
    target_status: str
    operation: Operation | None = None
    groups: tuple[StandingPart, ...] = ()
    lanes: tuple[StandingPart, ...] = ()
    worst: WorstMember | None = None
    observed: StandingObserved | None = None
