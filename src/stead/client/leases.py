"""The part of the client for leases and hosts, and the values that are answered."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from types import NoneType
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from stead.client.models import Calendar, Host, HostPage, Lateness, Lease, LeasePage
from stead.client.paging import through
from stead.client.transport import Transport


class LeasesClient:
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
        return await self._transport.send(
            HostPage, "GET", f"{self._transport.cell}/hosts", query={"limit": limit, "cursor": cursor}
        )

    def hosts(self, *, limit: int = 100) -> AsyncGenerator[Host]:
        """All hosts that can be booked, page by page."""
        return through(lambda cursor: self.host_page(limit=limit, cursor=cursor))

    async def put_host(
        self, name: str, lane: str, properties: Mapping[str, Any] | None = None, node: str | None = None
    ) -> Host:
        """Have a host booked from now on, or say anew what it has."""
        body = {"lane": lane, "properties": dict(properties or {}), "node": node}
        return await self._transport.send(Host, "PUT", self._transport.cell + _host(name), body=body)

    async def set_host_health(self, name: str, works: bool, why: str = "") -> Host:
        """Say that a host failed, or works again. Leases that have it get another, if one is free."""
        return await self._transport.send(
            Host, "PUT", f"{self._transport.cell + _host(name)}/works", body={"healthy": works, "reason": why}
        )

    async def remove_host(self, name: str) -> None:
        """Forget a host that no lease has or had."""
        await self._transport.send(NoneType, "DELETE", self._transport.cell + _host(name))

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
    return f"/hosts/{quote(name, safe='')}"
