"""Hosts that leases book."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from stead.store.statements import StorePart


class Hosts(StorePart):
    """Hosts and their bookings."""

    async def put(self, name: str, lane: str, properties: Mapping[str, Any], node: str | None) -> Mapping[str, Any]:
        """Add a host, or change what it has."""
        (record,) = await self._sql.fetch("put_host", name, lane, dict(properties), node)
        return dict(record)

    async def set_health(self, name: str, works: bool, why: str) -> Mapping[str, Any] | None:
        """Say whether a host works; None where there is none."""
        return await self._sql.record("set_host_health", name, works, why)

    async def remove(self, name: str) -> bool:
        """Remove a host that was never booked; whether there was one."""
        return bool(await self._sql.fetch("remove_host", name))

    async def read(self, name: str) -> Mapping[str, Any] | None:
        """A host, if there is one."""
        return await self._sql.record("read_host", name)

    async def read_page(self, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Hosts in order of name."""
        return [dict(r) for r in await self._sql.fetch("list_hosts", after, limit)]

    async def read_calendar(self, start: datetime, end: datetime, hosts: Sequence[str]) -> list[Mapping[str, Any]]:
        """Who has which host between two times."""
        return [dict(r) for r in await self._sql.fetch("list_calendar", start, end, list(hosts))]
