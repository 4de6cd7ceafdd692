"""The part of the client for leases and hosts, and the values that are answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field
from msgspec.structs import replace

from stead.client.paging import through
from stead.client.transport import Transport


class Reserved(Struct, frozen=True, kw_only=True):
    """Hosts of a lease that are alike."""

    id: str
    path: str
    name: str
    status: str
    """`pending`, `active`, `deleted` or `error`."""
    count: int
    """How many hosts are wanted."""
    min: int = 1
    """How many of them are enough."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    """What each of them was to have."""
    hosts: tuple[str, ...] = ()
    lane: str = ""
    missing_resources: bool = False
    """A host of them failed, and no other was found yet."""
    resources_changed: bool = False
    """Another host took the place of one that failed; until the lease is changed by its owner."""


class Moment(Struct, frozen=True, kw_only=True):
    """When something happens to a lease."""

    id: str
    kind: str
    """`start_lease`, `before_end_lease` or `end_lease`."""
    at: datetime
    status: str
    """`UNDONE`, `IN_PROGRESS`, `DONE` or `ERROR`."""
    fired_at: datetime | None = None
    late: float | None = None
    """Seconds after its time at which it came; None where it has not."""
    error: str = ""
    """Why the notice of the end was not delivered; empty otherwise."""


class Notice(Struct, frozen=True, kw_only=True):
    """What was told of a lease before its end."""

    id: str
    event: str
    made_at: datetime
    url: str = ""
    """Where to; empty where it is only noted."""
    tries: int = 0
    delivered_at: datetime | None = None
    error: str = ""


class Lease(Struct, frozen=True, kw_only=True):
    """Hosts booked from one time to another."""

    id: str
    path: str
    name: str
    status: str
    start: datetime
    end: datetime
    degraded: bool = False
    """Something of it is not as it was booked."""
    reason: str = ""
    """Why it is in `ERROR`, or what its start waits for; empty otherwise."""
    operation: str | None = None
    """What goes on; None where nothing does."""
    before_end: datetime | None = None
    """When its end is told; None where it is not."""
    made_at: datetime | None = None
    changed_at: datetime | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    reservations: tuple[Reserved, ...] = ()
    events: tuple[Moment, ...] = ()
    notices: tuple[Notice, ...] = ()


class LeasePage(Struct, frozen=True, kw_only=True):
    """A page of leases."""

    items: tuple[Lease, ...]
    next: str | None = None


class Host(Struct, frozen=True, kw_only=True):
    """A machine that can be booked."""

    name: str
    lane: str
    """Whose agent hands it over."""
    properties: Mapping[str, Any] = field(default_factory=dict)
    node: str | None = None
    """The node of the private cloud that it is, if it is one."""
    works: bool = True
    why: str = ""
    """Why it does not."""
    added_at: datetime | None = None


class HostPage(Struct, frozen=True, kw_only=True):
    """A page of hosts."""

    items: tuple[Host, ...]
    next: str | None = None


class Booked(Struct, frozen=True, kw_only=True):
    """Somebody has a host."""

    host: str
    start: datetime
    end: datetime
    lease: str = ""
    """Empty where whose it is is not for the caller."""
    status: str = ""


class Calendar(Struct, frozen=True, kw_only=True):
    """Hosts by time."""

    start: datetime
    end: datetime
    hosts: tuple[Host, ...] = ()
    booked: tuple[Booked, ...] = ()
    next: str | None = None


class Lateness(Struct, frozen=True, kw_only=True):
    """How late the moments of leases came, in seconds."""

    fired: int
    median: float = 0
    p99: float = 0
    worst: float = 0


class Leases:
    """Leases, the hosts that can be booked, and who has them when. A lease is asked for as any resource is."""

    _transport: Transport

    async def lease_page(self, *, below: str = "/", limit: int = 100, cursor: str | None = None) -> LeasePage:
        """One page of leases, without what was told of them."""
        query = {"below": below, "limit": limit, "cursor": cursor}
        return await self._transport.send(LeasePage, "GET", "/v1/leases", query=query)

    def leases(self, *, below: str = "/", limit: int = 100) -> AsyncGenerator[Lease]:
        """All leases below a path, page by page."""
        return through(lambda cursor: self.lease_page(below=below, limit=limit, cursor=cursor))

    async def lease(self, path: str) -> Lease:
        """A lease with its reservations, its events, and what was told of it."""
        return await self._transport.send(Lease, "GET", f"/v1/leases/{quote(path.removeprefix('/'), safe='/')}")

    async def lateness(self, *, hours: int = 24) -> Lateness:
        """How late the moments of leases came, in the last hours."""
        return await self._transport.send(Lateness, "GET", "/v1/lateness", query={"hours": hours})

    async def host_page(self, *, limit: int = 100, cursor: str | None = None) -> HostPage:
        """One page of hosts."""
        return await self._transport.send(HostPage, "GET", "/v1/hosts", query={"limit": limit, "cursor": cursor})

    def hosts(self, *, limit: int = 100) -> AsyncGenerator[Host]:
        """All hosts that can be booked, page by page."""
        return through(lambda cursor: self.host_page(limit=limit, cursor=cursor))

    async def put_host(
        self, name: str, lane: str, properties: Mapping[str, Any] | None = None, node: str | None = None
    ) -> Host:
        """Have a host booked from now on, or say anew what it has."""
        body = {"lane": lane, "properties": dict(properties or {}), "node": node}
        return await self._transport.send(Host, "PUT", _host(name), body=body)

    async def judge_host(self, name: str, works: bool, why: str = "") -> Host:
        """Say that a host failed, or works again. Leases that have it get another, if one is free."""
        return await self._transport.send(Host, "PUT", f"{_host(name)}/works", body={"works": works, "why": why})

    async def remove_host(self, name: str) -> None:
        """Forget a host that no lease has or had."""
        await self._transport.send(NoneType, "DELETE", _host(name))

    async def calendar_page(
        self,
        start: datetime | None = None,
        end: datetime | None = None,
        *,
        limit: int = 100,
        cursor: str | None = None,
    ) -> Calendar:
        """Some hosts, and who has them between two times: a day from now on, unless said otherwise."""
        times = {"start": start and start.isoformat(), "end": end and end.isoformat()}
        query = {**times, "limit": limit, "cursor": cursor}
        return await self._transport.send(Calendar, "GET", "/v1/calendar", query=query)

    async def calendar(
        self, start: datetime | None = None, end: datetime | None = None, *, limit: int = 100
    ) -> Calendar:
        """All hosts, and who has them between two times."""
        whole = await self.calendar_page(start, end, limit=limit)
        while whole.next is not None:
            more = await self.calendar_page(whole.start, whole.end, limit=limit, cursor=whole.next)
            whole = replace(more, hosts=whole.hosts + more.hosts, booked=whole.booked + more.booked)
        return whole


def _host(name: str) -> str:
    return f"/v1/hosts/{quote(name, safe='')}"
