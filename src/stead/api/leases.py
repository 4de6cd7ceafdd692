"""Leases, hosts and the calendar. What is asked of a lease is asked as of any resource, at its path."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

from fastapi import Query
from pydantic import AfterValidator, BaseModel, ConfigDict, StringConstraints

from stead.api.identity import Who
from stead.api.models import AskedTime, Below, Name, Path, Wire
from stead.api.problems import FieldError, Trouble, trouble
from stead.api.requests import Cursor, Limit, from_cursor, to_cursor
from stead.api.resources import Where
from stead.api.routing import ServiceDep, router
from stead.api.storable import storable
from stead.controller.view import Missing, Unfit

DAY = timedelta(days=1)
LONGEST = timedelta(days=366)
LaneName = Annotated[str, StringConstraints(pattern="^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


class Reserved(Wire):
    """Hosts of a lease that are alike."""

    id: UUID
    path: str
    name: str
    status: str
    """`pending`, `active`, `deleted` or `error`."""
    count: int
    """How many hosts are wanted."""
    min: int
    """How many of them are enough."""
    properties: dict[str, Any]
    """What each of them was to have."""
    hosts: list[str]
    """Which they are."""
    lane: str
    missing_resources: bool
    """A host of them failed, and no other was found yet."""
    resources_changed: bool
    """Another host took the place of one that failed; until the lease is changed by its owner."""


class Moment(Wire):
    """When something happens to a lease."""

    id: UUID
    kind: str
    """`start_lease`, `before_end_lease` or `end_lease`."""
    at: datetime
    status: str
    """`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`."""
    fired_at: datetime | None
    late: float | None
    """Seconds after its time at which it came; null where it has not."""
    error: str = ""
    """Why the notice of the end was not delivered; empty otherwise."""


class Notice(Wire):
    """What was told of a lease before its end."""

    id: UUID
    event: str
    made_at: datetime
    url: str
    """Where to; empty where it is only noted."""
    tries: int
    delivered_at: datetime | None
    error: str


class Lease(Wire):
    """Hosts booked from one time to another."""

    id: UUID
    path: str
    name: str
    status: str
    """Exactly as it is: `CREATING`, `PENDING`, `STARTING`, `ACTIVE`, `UPDATING`, `TERMINATING`, `TERMINATED`, `ERROR`
    or `DELETING`."""
    degraded: bool
    """Something of it is not as it was booked."""
    reason: str = ""
    """Why it is in `ERROR`, or what its start waits for; empty otherwise."""
    operation: str | None
    """What goes on; null where nothing does."""
    start: datetime
    end: datetime
    before_end: datetime | None
    """When its end is told; null where it is not."""
    made_at: datetime | None
    changed_at: datetime | None
    labels: dict[str, str]
    reservations: list[Reserved]
    events: list[Moment]
    notices: list[Notice]


class Leases(Wire):
    """Some leases."""

    items: list[Lease]
    next: str | None = None
    """What to give as `cursor` to go on; null at the end."""


class Host(Wire):
    """A machine that can be booked."""

    name: str
    lane: str
    """Whose agent hands it over."""
    properties: dict[str, Any]
    node: str | None
    """The node of the private cloud that it is, if it is one."""
    works: bool
    why: str
    """Why it does not."""
    added_at: datetime


class Said(BaseModel):
    """What is said of a host."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class HostChange(Said):
    """What a host is."""

    lane: LaneName
    properties: Annotated[dict[str, Any], AfterValidator(storable)] = {}
    """Texts, numbers and truths by name, which leases may ask for."""
    node: Path | None = None
    """The node of the private cloud that it is: it works while that is enabled."""


class HostVerdict(Said):
    """Whether a host works."""

    works: bool
    why: Annotated[str, StringConstraints(max_length=500), AfterValidator(storable)] = ""


class Hosts(Wire):
    """Some hosts."""

    items: list[Host]
    next: str | None = None


class Booked(Wire):
    """Somebody has a host."""

    host: str
    lease: str
    """Empty where whose it is is not for you."""
    start: datetime
    end: datetime
    status: str


class Calendar(Wire):
    """Hosts by time."""

    start: datetime
    end: datetime
    hosts: list[Host]
    booked: list[Booked]
    next: str | None = None
    """What to give as `cursor` for more hosts; null at the end."""


class Lateness(Wire):
    """How late the moments of leases came, in seconds."""

    fired: int
    median: float
    p99: float
    worst: float


routes = router("leases")


@routes.get("/v1/leases")
async def list_leases(
    service: ServiceDep, caller: Who, below: Below = "/", cursor: Cursor = None, limit: Limit = 100
) -> Leases:
    """Leases in order of path."""
    after = from_cursor(cursor, str) or ""
    items, next_ = await service.seen(caller).leases(below, after, limit)
    return Leases(items=[Lease.model_validate(item) for item in items], next=to_cursor(next_))


@routes.get("/v1/leases/{path:path}")
async def read_lease(service: ServiceDep, caller: Who, path: Where) -> Lease:
    """A lease with its reservations, events and notices."""
    found = await service.seen(caller).lease(f"/{path}")
    if found is None:
        raise Trouble("not-found", f"there is no lease /{path}")
    return Lease.model_validate(found)


@routes.get("/v1/lateness")
async def read_lateness(
    service: ServiceDep, caller: Who, hours: Annotated[int, Query(ge=1, le=24 * 366)] = 24
) -> Lateness:
    """How late the moments of leases came, in the last hours."""
    return Lateness.model_validate(await service.seen(caller).lateness(hours * 3600))


@routes.get("/v1/hosts")
async def list_hosts(service: ServiceDep, caller: Who, cursor: Cursor = None, limit: Limit = 100) -> Hosts:
    """Hosts that can be booked, in order of name."""
    items = await service.seen(caller).hosts(from_cursor(cursor, str) or "", limit)
    return Hosts(
        items=[Host.model_validate(item) for item in items],
        next=to_cursor(items[-1].name if len(items) == limit else None),
    )


@routes.put("/v1/hosts/{name}")
async def put_host(service: ServiceDep, caller: Who, name: Name, change: HostChange) -> Host:
    """Have a host booked from now on, or say anew what it has."""
    found = await service.put_host(name, change.lane, change.properties, change.node, caller)
    if isinstance(found, Unfit | Missing):
        raise trouble(found)
    return Host.model_validate(found)


@routes.put("/v1/hosts/{name}/works")
async def judge_host(service: ServiceDep, caller: Who, name: Name, verdict: HostVerdict) -> Host:
    """Say that a host failed, or works again. Leases that have it get another, if one is free."""
    found = await service.judge_host(name, verdict.works, verdict.why, caller)
    if isinstance(found, Missing):
        raise trouble(found)
    return Host.model_validate(found)


@routes.delete("/v1/hosts/{name}", status_code=204)
async def remove_host(service: ServiceDep, caller: Who, name: Name) -> None:
    """Forget a host that no lease has or had."""
    found = await service.remove_host(name, caller)
    if found is not None:
        raise trouble(found)


@routes.get("/v1/calendar")
async def read_calendar(
    service: ServiceDep,
    caller: Who,
    start: AskedTime | None = None,
    end: AskedTime | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Calendar:
    """Who has which host between two times: a day from now on, unless said otherwise."""
    start = start or service.view.store.clock.now()
    last = datetime.max.replace(tzinfo=UTC)
    end = end or start + min(DAY, last - start)
    if not start < end <= start + min(LONGEST, last - start):
        says = "it has to be after the start, by at most 366 days"
        raise Trouble("invalid", f"end: {says}", errors=[FieldError(where="end", says=says)])
    found = await service.seen(caller).calendar(start, end, from_cursor(cursor, str) or "", limit)
    shown = Calendar.model_validate(found)
    shown.next = to_cursor(found.hosts[-1].name if len(found.hosts) == limit else None)
    return shown
