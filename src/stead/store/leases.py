"""Statements about leases: hosts, who has them when, and the moments at which something happens."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import asyncpg

from stead.store.statements import Statements

NO_ROOM = "ST002"
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


class Leases(Statements):
    """What is booked."""

    async def book(self, lease: str, fence: int, terms: Mapping[str, Any], at: float) -> bool | HostsUnavailable:
        """Book what a new lease wants, all or nothing; False where it does not wait for that any more."""
        return await self._book("SELECT book($1, $2, $3, $4)", lease, fence, dict(terms), at)

    async def rebook(
        self, lease: str, fence: int, terms: Mapping[str, Any], at: float, *, heals: bool
    ) -> bool | HostsUnavailable:
        """The same for what a lease wants from now on; where it only heals, as much as there is."""
        return await self._book("SELECT rebook($1, $2, $3, $4, $5)", lease, fence, dict(terms), at, heals)

    async def _book(self, text: str, *values: Any) -> bool | HostsUnavailable:
        try:
            return bool(await self._pool.fetchval(text, *values))
        except asyncpg.PostgresError as error:
            if error.sqlstate != NO_ROOM:
                raise
            return HostsUnavailable(**json.loads(error.detail or "{}"))

    async def reservations(self, leases: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """By lease its reservations, with their hosts and flags."""
        found: dict[str, list[Mapping[str, Any]]] = {lease: [] for lease in leases}
        for record in await self.fetch("list_reserved", list(leases)):
            found[record["lease"]].append(dict(record))
        return found

    async def events(self, leases: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
        """By lease its moments, in order of time."""
        found: dict[str, list[Mapping[str, Any]]] = {lease: [] for lease in leases}
        for record in await self.fetch("read_events", list(leases)):
            found[record["lease"]].append(dict(record))
        return found

    async def settle_start(self, lease: str, status: str, at: float) -> None:
        """After an update: the start of a lease is over, or still to come."""
        await self.fetch("settle_start", lease, status, at)

    async def free_leaving(self, lease: str) -> None:
        """All its reservations have given back what they do not have any more: it is anybody's."""
        await self.fetch("free_leaving", lease)

    # What is due

    async def due_events(self, now: float, limit: int, pause: float) -> list[tuple[str, str]]:
        """Moments that have come, as lease and kind; others are not told of them for so many seconds."""
        return [(r["lease"], r["kind"]) for r in await self.fetch("due_events", now, limit, pause)]

    async def due_retakes(self, now: float, limit: int, pause: float) -> list[str]:
        """Leases that were ended and still have hosts; others are not told of them for so many seconds, or longer."""
        return [r["lease"] for r in await self.fetch("due_retakes", now, limit, pause)]

    async def awaited(
        self, now: float, below: str = "/", leases: Sequence[str] | None = None, limit: int = 1000
    ) -> list[Mapping[str, Any]]:
        """Leases whose start is due and waits for hosts that were not taken back yet: path, state, time and hosts."""
        paths = None if leases is None else list(leases)
        return [dict(r) for r in await self.fetch("list_awaited", now, below, paths, limit)]

    async def expired(self, now: float, limit: int) -> list[tuple[str, UUID]]:
        """Reservations that are being handed over after the end of their lease, each with its operation."""
        return [(r["path"], r["operation"]) for r in await self.fetch("list_expired", now, limit)]

    async def tell_end(self, lease: str, now: float) -> bool:
        """Note that the end of a lease is near; whether nobody had."""
        return bool(await self.fetch("tell_end", lease, now))

    async def notices(self, lease: str) -> list[Mapping[str, Any]]:
        """What was told of a lease."""
        return [dict(r) for r in await self.fetch("list_notices", lease)]

    async def due_notices(self, now: float, limit: int, pause: float) -> list[Mapping[str, Any]]:
        """What is to be told somewhere now; others are not given it for so many seconds."""
        return [dict(r) for r in await self.fetch("due_notices", now, limit, pause)]

    async def end_notice(self, id: UUID, now: float, error: str, again: float | None) -> None:
        """It has arrived, or not; and when it is tried again."""
        await self.fetch("end_notice", id, now, error, again)

    async def late_events(self, since: float) -> Mapping[str, Any]:
        """How late moments came, of those that came since a time: seconds."""
        (record,) = await self.fetch("late_events", since)
        return dict(record)

    # What fails

    async def flag_reservations(self, now: float) -> list[str]:
        """Reservations that lack something as of now, and did not before."""
        return [r["reservation"] for r in await self.fetch("flag_reservations", now)]

    async def due_mends(self, now: float, limit: int, pause: float) -> list[str]:
        """Leases that lack something that can be mended now."""
        rows = await self.fetch("due_mends", now, limit, pause)
        return sorted({r["lease"] for r in rows if r["mendable"]})

    async def flag_lost(self, reservations: Sequence[str]) -> None:
        """What was handed over for them is not there any more."""
        await self.fetch("flag_lost", list(reservations))

    async def found_lost(self, reservations: Sequence[str]) -> None:
        """It was handed over anew."""
        await self.fetch("found_lost", list(reservations))

    # Hosts

    async def put_host(
        self, name: str, lane: str, properties: Mapping[str, Any], node: str | None
    ) -> Mapping[str, Any]:
        """Add a host, or change what it has."""
        (record,) = await self.fetch("put_host", name, lane, dict(properties), node)
        return dict(record)

    async def judge_host(self, name: str, works: bool, why: str) -> Mapping[str, Any] | None:
        """Say whether a host works; None where there is none."""
        rows = await self.fetch("judge_host", name, works, why)
        return dict(rows[0]) if rows else None

    async def remove_host(self, name: str) -> bool:
        """Forget a host that nobody has had; whether it was there."""
        return bool(await self.fetch("remove_host", name))

    async def host(self, name: str) -> Mapping[str, Any] | None:
        """A host, if there is one."""
        rows = await self.fetch("read_host", name)
        return dict(rows[0]) if rows else None

    async def hosts(self, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Hosts in order of name."""
        return [dict(r) for r in await self.fetch("list_hosts", after, limit)]

    async def calendar(self, start: datetime, end: datetime, hosts: Sequence[str]) -> list[Mapping[str, Any]]:
        """Who has which host between two times."""
        return [dict(r) for r in await self.fetch("list_calendar", start, end, list(hosts))]
