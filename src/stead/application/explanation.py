"""Why an action would be accepted or rejected, and what it would do."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

from stead.application.names import operation_id
from stead.lifecycle import snapshot
from stead.lifecycle.decision import Reason
from stead.schema import Model, one_of

REMEDIES = ("wait", "ask", "force", "reason", "parent", "quota", "empty", "actor", "permission", "lane", "nothing")


@dataclass(frozen=True, slots=True)
class ClaimHolder(Model):
    """Who has a claim that is in the way."""

    operation: str
    action: str
    path: str
    principal: str
    since: datetime | None


def holder_of(found: snapshot.Holder) -> ClaimHolder:
    """A holder as it is shown."""
    since = datetime.fromisoformat(found.since) if found.since else None
    owner = found.by if found.by.startswith("/") else found.path  # of what is in use: the path of its user
    return ClaimHolder(operation_id(owner, found.operation), found.action, found.path, found.by, since)


@dataclass(frozen=True, slots=True)
class Remedy(Model):
    """Something that would let a refused action in."""

    kind: Annotated[str, one_of(REMEDIES)]
    """`wait`, `ask`, `force`, `reason`, `parent`, `empty`, `actor`, or `nothing` where there is no way."""
    description: str
    actions: tuple[str, ...] = ()
    """With `ask`: in this order."""
    operation: str = ""
    """With `wait`: whose end."""


@dataclass(frozen=True, slots=True)
class Explanation(Model):
    """Whether an action would be let in now, and if not, why, and what would help."""

    path: str
    kind: str
    action: str
    state: str
    allowed: bool
    would_join: bool
    """It would join the operation that is running already."""
    no_change: bool
    """There would be nothing to do."""
    would_queue: bool
    """It would wait its turn."""
    reasons: tuple[Reason, ...]
    holder: ClaimHolder | None
    holders: tuple[ClaimHolder, ...]
    """All operations whose claims are in the way, the one in `holder` included."""
    allowed_actions: tuple[str, ...]
    """What would be let in as it stands; of a group only what some member could follow."""
    retry_after: int | None
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True, slots=True)
class PlannedTransition(Model):
    """A move that would be made at once."""

    source: str
    target: str
    trigger: str
    detail: str
    actor: str


@dataclass(frozen=True, slots=True)
class PlannedClaim(Model):
    """A claim that would be taken, handed over or given back."""

    path: str
    mode: str
    change: str


@dataclass(frozen=True, slots=True)
class PlannedOrder(Model):
    """What agents would be told at once."""

    verb: str
    lane: str
    members: int


@dataclass(frozen=True, slots=True)
class PlannedTimer(Model):
    """A timer that would start."""

    name: str
    seconds: int
    """Seconds."""


@dataclass(frozen=True, slots=True)
class MemberClass(Model):
    """Members in one condition, and what the action would do with them."""

    state: str
    members: int
    effect: Annotated[str, one_of(("acts", "joins", "nothing", "skipped"))]
    """`acts`, `joins`, `nothing` or `skipped`."""
    target: str = ""
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True)
class DryRun(Model):
    """What an action would do, without doing it."""

    path: str
    kind: str
    action: str
    state: str
    would_join: bool
    no_change: bool
    would_queue: bool
    transitions: tuple[PlannedTransition, ...]
    claims: tuple[PlannedClaim, ...]
    orders: tuple[PlannedOrder, ...]
    timers: tuple[PlannedTimer, ...]
    provider_calls: tuple[str, ...]
    """All that providers would be asked for, one after the other."""
    states: tuple[str, ...]
    """The states from here to the end, if all goes well."""
    failure_state: str
    """Where failure leads; empty where the action cannot fail."""
    members: tuple[MemberClass, ...]
