"""How a group stands, as a server answers with it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime

from stead.client.models import Operation, Resource


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingPart:
    """Members that belong together: a subgroup, or all that are on one lane."""

    name: str
    lane: str = ""
    text: str = ""
    counts: dict[str, int] = field(default_factory=dict)

    @property
    def total(self) -> int:
        """How many there are."""
        return sum(self.counts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class WorstMember:
    """A member in trouble, and why."""

    path: str
    state: str
    since: datetime | None = None
    says: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
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
