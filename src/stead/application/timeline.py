"""What an operation did and when: a bar for each member, and why those failed that did."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from stead.application.archived import not_before
from stead.application.models import Operation
from stead.application.names import uuid_of
from stead.application.reader import Reader
from stead.schema import Model, Next

SLACK = timedelta(seconds=5)
"""By which clocks of those who write the journal may differ."""
MAX_ERRORS = 50
"""Reasons that are told apart."""


@dataclass(frozen=True, slots=True)
class TimelinePhase(Model):
    """A state that a member came into."""

    state: str
    at: datetime


@dataclass(frozen=True, slots=True)
class TimelineBar(Model):
    """A member of an operation in time."""

    path: str
    kind: str
    started_at: datetime
    ended_at: datetime | None
    """Null while it is at work."""
    source: str
    """The state in which it was before."""
    phases: tuple[TimelinePhase, ...]
    outcome: str | None
    """Null while it is at work."""
    message: str


@dataclass(frozen=True, slots=True)
class TimelineError(Model):
    """Why members did not do what was asked."""

    outcome: str
    message: str
    members: int
    path: str
    """The first of them."""


@dataclass(frozen=True, slots=True)
class Timeline(Model):
    """What an operation did and when."""

    operation: Operation
    now: datetime
    total: int
    """Members of which the journal has something, with the group itself."""
    items: tuple[TimelineBar, ...]
    """The group itself first, then those that failed, those at work, and the others, the slowest first."""
    next: Next
    """The cursor of the next page."""
    errors: tuple[TimelineError, ...]
    """Each reason once, the most frequent first."""


async def timeline(reader: Reader, op: Operation, skip: int, limit: int) -> Timeline:
    """A page of the bars of an operation, the group itself first, then the worst and the slowest."""
    await not_before(reader.store, op.created_at)
    now = reader.store.clock.now()
    since, until = op.created_at - SLACK, (op.ended_at or now) + SLACK
    id = uuid_of(op.id)
    records = await reader.store.operations.read_timeline(id, op.path, since, until, skip, limit)
    total = records[0]["total"] if records else 0
    causes = await reader.store.operations.count_errors(id, MAX_ERRORS)
    reached = skip + len(records)
    return Timeline(
        operation=op,
        now=now,
        total=total,
        items=tuple(_bar(record, op) for record in records),
        next=reached if records and reached < total else None,
        errors=tuple(TimelineError(c["outcome"], c["says"], c["members"], c["path"]) for c in causes),
    )


def _bar(record: Mapping[str, Any], op: Operation) -> TimelineBar:
    phases = tuple(TimelinePhase(state, datetime.fromisoformat(at)) for state, at in record["phases"] or ())
    working = op.outcome is None and record["working"]
    outcome = record["outcome"] or (None if working else op.outcome if record["path"] == op.path else "succeeded")
    return TimelineBar(
        path=record["path"],
        kind=record["kind"],
        started_at=record["begun"],
        ended_at=None if working else record["last"],
        source=record["origin"],
        phases=phases,
        outcome=outcome,
        message=record["says"],
    )
