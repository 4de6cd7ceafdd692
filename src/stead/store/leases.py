"""Leases: which hosts are booked for them, and the times at which their events are due."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import asyncpg

from stead.store.statements import StorePart

HOSTS_EXHAUSTED = "ST002"
"""What booking says where there are not so many hosts."""


@dataclass(frozen=True, slots=True)
class HostsUnavailable:
    """There are not so many hosts at that time."""

    reservation: str
    count: int = 0
    next: float | None = None
    """When there are, at the earliest, in seconds since the epoch; None: not in sight."""
    host: str = ""
    """The one that is in the way, where it is one that has been handed over."""
    beyond: Sequence[str] = ()
    """Lanes that have such hosts, and that the namespace may not use."""
    quota: str = ""
    """The quota of the namespace that the lease would exceed, where it is that: with `count` it would be this."""
    most: int = 0
    """What the quota allows."""


class Leases(StorePart):
    """Bookings, reservations and events of leases."""

    async def book(self, lease: str, fence: int, terms: Mapping[str, Any], at: float) -> bool | HostsUnavailable:
        """Book what a new lease wants, all or nothing; False where it does not wait for that any more."""
        return await self._book("book", lease, fence, dict(terms), at)

    async def rebook(
        self, lease: str, fence: int, terms: Mapping[str, Any], at: float, *, heals: bool
    ) -> bool | HostsUnavailable:
        """The same for what a lease wants from now on; where it only heals, as much as there is."""
        return await self._book("rebook", lease, fence, dict(terms), at, heals)

    async def _book(self, statement: str, *values: Any) -> bool | HostsUnavailable:
        try:
            return bool(await self._sql.value(statement, *values))
        except asyncpg.PostgresError as error:
            if error.sqlstate != HOSTS_EXHAUSTED:
                raise
            return HostsUnavailable(**json.loads(error.detail or "{}"))

    async def read_reservations(self, leases: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """By lease its reservations, with their hosts and flags."""
        found: dict[str, list[Mapping[str, Any]]] = {lease: [] for lease in leases}
        for record in await self._sql.fetch("list_reservations", list(leases)):
            found[record["lease"]].append(dict(record))
        return found

    async def read_events(self, leases: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """By lease its moments, in order of time."""
        found: dict[str, list[Mapping[str, Any]]] = {lease: [] for lease in leases}
        for record in await self._sql.fetch("read_events", list(leases)):
            found[record["lease"]].append(dict(record))
        return found

    async def record_start(self, lease: str, status: str, at: float) -> None:
        """After an update: the start of a lease is over, or still to come."""
        await self._sql.fetch("record_start", lease, status, at)

    async def free_returned_hosts(self, lease: str) -> None:
        """Free the hosts that reservations of a lease have given back."""
        await self._sql.fetch("free_returned_hosts", lease)

    async def due_events(self, now: float, limit: int, pause: float) -> list[tuple[str, str]]:
        """Moments that have come, as lease and kind; others are not told of them for so many seconds."""
        return [(r["lease"], r["kind"]) for r in await self._sql.fetch("due_events", now, limit, pause)]

    async def measure_delay(self, since: float) -> Mapping[str, Any]:
        """How late moments came, of those that came since a time: seconds."""
        (record,) = await self._sql.fetch("measure_event_delay", since)
        return dict(record)

    async def due_reclaims(self, now: float, limit: int, pause: float) -> list[str]:
        """Leases that were ended and still have hosts; others are not told of them for so many seconds, or longer."""
        return [r["lease"] for r in await self._sql.fetch("due_reclaims", now, limit, pause)]

    async def list_delayed_starts(
        self, now: float, below: str = "/", leases: Sequence[str] | None = None, limit: int = 1000
    ) -> list[Mapping[str, Any]]:
        """Leases whose start is due and waits for hosts that were not taken back yet: path, state, time and hosts."""
        paths = None if leases is None else list(leases)
        return [dict(r) for r in await self._sql.fetch("list_delayed_starts", now, below, paths, limit)]

    async def list_expired(self, now: float, limit: int) -> list[tuple[str, UUID]]:
        """Reservations that are being handed over after the end of their lease, each with its operation."""
        return [(r["path"], r["operation"]) for r in await self._sql.fetch("list_expired", now, limit)]

    async def flag_degraded(self, now: float) -> list[str]:
        """Reservations that lack something as of now, and did not before."""
        return [r["reservation"] for r in await self._sql.fetch("flag_degraded", now)]

    async def due_repairs(self, now: float, limit: int, pause: float) -> list[str]:
        """Leases that lack something that can be mended now."""
        rows = await self._sql.fetch("due_repairs", now, limit, pause)
        return sorted({r["lease"] for r in rows if r["mendable"]})

    async def mark_lost(self, reservations: Sequence[str]) -> None:
        """What was handed over for them is not there any more."""
        await self._sql.fetch("mark_lost", list(reservations))

    async def mark_restored(self, reservations: Sequence[str]) -> None:
        """It was handed over anew."""
        await self._sql.fetch("mark_restored", list(reservations))
