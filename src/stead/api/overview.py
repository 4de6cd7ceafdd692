"""Much at a glance: the cell, what lies below a path, and what an operation did and when."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from fastapi import Query

from stead.api.identity import Who
from stead.api.models import Below, Operation, Wire
from stead.api.problems import Trouble
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.api.routing import ServiceDep, router

StateClass = Literal["settled", "moving", "final", "absent"]
Health = Literal["trouble", "moving", "well", "ended", "empty"]


class KindCount(Wire):
    """Resources of one kind in one state."""

    kind: str
    state: str
    state_class: StateClass
    health: Health
    members: int


class Troubled(Wire):
    """A resource that somebody should look at."""

    path: str
    kind: str
    state: str
    state_class: StateClass
    since: datetime
    why: str


class ThrottledLane(Wire):
    """A lane on which a provider has refused calls because there were too many."""

    lane: str
    calls: int
    """Ever."""
    at: datetime
    """When it last did."""


class Overview(Wire):
    """The cell at a glance. It costs the same however many resources there are.

    Whoever sees some namespaces and not the cell gets the numbers of those, and null for what is the cell's own."""

    at: datetime
    position: int
    """Of the journal, before all this was read."""
    counts: list[KindCount]
    """All resources by kind and state, a moment ago at most."""
    classes: dict[str, int]
    """All resources by class of state."""
    under_way: int
    """Operations; counted up to 10,000."""
    waiting: int
    """Operations that wait their turn; counted up to 10,000."""
    trouble: list[Troubled]
    """At most 20: those in bad final states and those of which nobody knows first, then other bad states, then what
    has been moving for more than half of its deadline, the longest first.
    """
    more_trouble: bool
    """There are others."""
    calls_made: int | None
    """To providers, by group operations that are under way or ended in the last hour, and by observations in it."""
    calls_saved: int | None
    """How many more it would have been with one for each member, those observations included that were not needed."""
    moves: list[int] | None
    """In each of the last 60 seconds, the oldest first."""
    agents_there: int | None
    """Agents that were heard of in the last 30 seconds."""
    agents_away: int | None
    throttled: list[ThrottledLane]
    """In the last hour, the latest first."""


class TreeNode(Wire):
    """A resource, or only a part of paths, such as a namespace."""

    name: str
    path: str
    kind: str | None
    """Null where it is no resource."""
    state: str | None
    state_class: StateClass | None
    health: Health
    """The worst of its own and of all below it."""
    worst: str
    """The state that is the worst."""
    total: int
    """Resources below it."""
    counts: dict[str, dict[str, int]]
    """Of those, by kind and state, a moment ago at most."""


class Tree(Wire):
    """A page of what lies directly below a path, the worst first, then by name."""

    items: list[TreeNode]
    next: str | None
    """The cursor of the next page."""


class TimelinePhase(Wire):
    """A state that a member came into."""

    state: str
    at: datetime


class TimelineBar(Wire):
    """A member of an operation in time."""

    path: str
    kind: str
    begin: datetime
    end: datetime | None
    """Null while it is at work."""
    origin: str
    """The state in which it was before."""
    phases: list[TimelinePhase]
    outcome: str | None
    """Null while it is at work."""
    says: str


class TimelineError(Wire):
    """Why members did not do what was asked."""

    outcome: str
    says: str
    members: int
    path: str
    """The first of them."""


class Timeline(Wire):
    """What an operation did and when."""

    operation: Operation
    now: datetime
    total: int
    """Members of which the journal has something, with the group itself."""
    items: list[TimelineBar]
    """The group itself first, then those that failed, those at work, and the others, the slowest first."""
    next: str | None
    """The cursor of the next page."""
    errors: list[TimelineError]
    """Each reason once, the most frequent first."""


routes = router("overview")


@routes.get("/v1/overview")
async def read_overview(service: ServiceDep, caller: Who) -> Overview:
    """The cell at a glance: how many of what are where, what goes on, what is in trouble and why."""
    return Overview.model_validate(await service.seen(caller).overview())


@routes.get("/v1/tree")
async def read_tree(
    service: ServiceDep,
    caller: Who,
    below: Annotated[Below, Query(description="Directly below this path.")] = "/",
    limit: Limit = 100,
    cursor: Cursor = None,
) -> Tree:
    """What lies directly below a path, each with how all that is below it stands, the worst first."""
    page = await service.seen(caller).tree(below, from_cursor(cursor, str), limit)
    return Tree(items=[TreeNode.model_validate(item) for item in page.items], next=to_cursor(page.next))


@routes.get("/v1/operations/{id}/timeline")
async def read_timeline(
    service: ServiceDep,
    caller: Who,
    id: UUID,
    limit: Annotated[int, Query(ge=1, le=500, description="At most so many members.")] = 100,
    cursor: Cursor = None,
) -> Timeline:
    """What an operation did to each of its members and when, and why those failed that did."""
    found = await service.seen(caller).timeline(id, max(from_cursor(cursor, int) or 0, 0), limit)
    if found is None:
        raise Trouble("not-found", f"there is no operation {id}")
    return Timeline(
        operation=Operation.model_validate(found.operation),
        now=found.now,
        total=found.total,
        items=[TimelineBar.model_validate(item) for item in found.items],
        next=to_cursor(found.next),
        errors=[TimelineError.model_validate(item) for item in found.errors],
    )
