"""Leases, the hosts that can be booked, and the calendar: who has what, and when."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import computed_field

from stead.application.models import Resource
from stead.application.reader import Reader
from stead.schema import HIDDEN, Model, Next
from stead.store import Store


@dataclass(frozen=True, slots=True)
class Reservation(Model):
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
    properties: Mapping[str, Any]
    """What each of them was to have."""
    hosts: tuple[str, ...]
    """Which they are."""
    lane: str
    missing_resources: bool
    """A host of them failed, and no other was found yet."""
    resources_changed: bool
    """Another host took the place of one that failed; until the lease is changed by its owner."""


@dataclass(frozen=True, slots=True)
class LeaseEvent(Model):
    """When something happens to a lease."""

    id: UUID
    kind: str
    """`start_lease`, `before_end_lease` or `end_lease`."""
    at: datetime
    status: str
    """`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`."""
    fired_at: datetime | None
    error: str = ""
    """Why the notice of the end was not delivered; empty otherwise."""

    @computed_field(description="Seconds after its time at which it came; null where it has not.")  # type: ignore[prop-decorator]
    @property
    def delay(self) -> float | None:
        """Seconds after its time at which it came; None where it has not."""
        return (self.fired_at - self.at).total_seconds() if self.fired_at is not None else None


@dataclass(frozen=True, slots=True)
class Notice(Model):
    """What was told of a lease before its end."""

    id: UUID
    event: str
    created_at: datetime
    url: str
    """Where to; empty where it is only noted."""
    attempts: int
    delivered_at: datetime | None
    error: str


@dataclass(frozen=True, slots=True)
class Lease(Model):
    """Hosts booked from one time to another."""

    id: UUID
    path: str
    name: str
    status: str
    """Exactly as it is: `CREATING`, `PENDING`, `STARTING`, `ACTIVE`, `UPDATING`, `TERMINATING`, `TERMINATED`, `ERROR`
    or `DELETING`."""
    operation: str | None
    """What goes on; null where nothing does."""
    start: datetime
    end: datetime
    before_end: datetime | None
    """When its end is told; null where it is not."""
    created_at: datetime | None
    changed_at: datetime | None
    reservations: tuple[Reservation, ...]
    events: tuple[LeaseEvent, ...]
    notices: tuple[Notice, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    reason: str = ""
    """Why it is in `ERROR`, or what its start waits for; empty otherwise."""

    @computed_field(description="Something of it is not as it was booked.")  # type: ignore[prop-decorator]
    @property
    def degraded(self) -> bool:
        """Something of it is not as it was booked."""
        return any(one.missing_resources or one.resources_changed for one in self.reservations)


@dataclass(frozen=True, slots=True)
class Host(Model):
    """A machine that can be booked."""

    name: str
    lane: str
    """Whose agent hands it over."""
    properties: Mapping[str, Any]
    node: str | None
    """The node of the private cloud that it is, if it is one."""
    healthy: bool
    reason: str
    """Why it does not."""
    added_at: datetime


@dataclass(frozen=True, slots=True)
class Booking(Model):
    """A host that a lease has for a time."""

    host: str
    lease: str
    """Empty where whose it is is not for you."""
    start: datetime
    end: datetime
    status: str
    lease_id: Annotated[UUID | None, HIDDEN] = None
    reservation_id: Annotated[UUID | None, HIDDEN] = None


@dataclass(frozen=True, slots=True)
class Calendar(Model):
    """Hosts by time."""

    start: datetime
    end: datetime
    hosts: tuple[Host, ...]
    booked: tuple[Booking, ...]
    next: Next = None
    """What to give as `cursor` for more hosts; null at the end."""


@dataclass(frozen=True, slots=True)
class Lateness(Model):
    """How late the moments of leases came, in seconds."""

    fired: int
    median: float
    p99: float
    maximum: float


async def leases(reader: Reader, found: Sequence[Resource], *, notices: bool = False) -> list[Lease]:
    """Leases with all that belongs to them."""
    store, paths = reader.store, [lease.path for lease in found]
    if not paths:
        return []
    reserved, events = await store.leases.read_reservations(paths), await store.leases.read_events(paths)
    rows = await store.resources.read_many(paths)
    told = {path: await store.notices.read_all(path) for path in paths} if notices else {}
    reasons = await reader.errors([lease.path for lease in found if lease.state == "ERROR"])
    pending = [lease.path for lease in found if lease.state == "PENDING"]
    if pending:
        awaited = await store.leases.list_delayed_starts(reader.usual.clock(), leases=pending)
        reasons |= {record["lease"]: waits_for(record["hosts"]) for record in awaited}
    return [
        replace(
            _lease(lease, rows[lease.path].token, reserved[lease.path], events[lease.path], told.get(lease.path, ())),
            reason=reasons.get(lease.path, ""),
        )
        for lease in found
        if lease.path in rows
    ]


def waits_for(hosts: Sequence[str]) -> str:
    """What a lease waits for whose time has come, and whose hosts are not free."""
    are = "is" if len(hosts) == 1 else "are"
    return f"it starts when {', '.join(hosts)} {are} taken back from the lease before it"


def _lease(
    found: Resource,
    id: UUID,
    reserved: Sequence[Mapping[str, Any]],
    events: Sequence[Mapping[str, Any]],
    notices: Sequence[Mapping[str, Any]],
) -> Lease:
    moments = {event["kind"]: _moment(event) for event in events}
    spec = found.spec
    wanted = {one.get("name"): one for one in spec.get("reservations", ())}
    return Lease(
        id=id,
        path=found.path,
        name=found.path.rsplit("/", 1)[1],
        status=found.state,
        operation=found.operation.id if found.operation is not None else None,
        start=_time(spec.get("start")),
        end=_time(spec.get("end")),
        before_end=moments["before_end_lease"].at if "before_end_lease" in moments else None,
        created_at=found.created_at,
        changed_at=found.changed_at,
        reservations=tuple(_reserved(part, wanted) for part in reserved),
        events=tuple(moments.values()),
        notices=tuple(map(_notice, notices)),
        labels=spec.get("labels", {}),
    )


def _time(said: Any) -> datetime:
    return datetime.fromisoformat(str(said))


def _moment(event: Mapping[str, Any]) -> LeaseEvent:
    return LeaseEvent(event["id"], event["kind"], event["at"], event["status"], event["fired_at"], event["error"])


def _reserved(part: Mapping[str, Any], wanted: Mapping[str, Mapping[str, Any]]) -> Reservation:
    name = part["path"].rsplit("/", 1)[1]
    count = part["spec"].get("count", 1)
    return Reservation.of_record(
        part,
        id=part["token"],
        name=name,
        status=part["state"],
        count=count,
        min=part["spec"].get("min", count),
        properties=wanted.get(name, {}).get("properties", {}),
        hosts=tuple(part["hosts"]),
    )


def host_of(record: Mapping[str, Any]) -> Host:
    """A host from its record."""
    return Host.of_record(record, healthy=record["works"], reason=record["why"])


def _notice(record: Mapping[str, Any]) -> Notice:
    return Notice.of_record(record, created_at=record["made_at"], attempts=record["tries"])


async def calendar(
    store: Store, start: datetime, end: datetime, after: str, limit: int, host: str | None = None
) -> Calendar:
    """Some hosts, in order of name, or one of them, and who has them between two times."""
    one = await store.hosts.read(host) if host is not None else None
    records = await store.hosts.read_page(after, limit) if host is None else [one] if one is not None else []
    hosts = tuple(host_of(record) for record in records)
    booked = await store.hosts.read_calendar(start, end, [host.name for host in hosts])
    return Calendar(
        start,
        end,
        hosts,
        tuple(map(Booking.of_record, booked)),
        hosts[-1].name if host is None and len(hosts) == limit else None,
    )
