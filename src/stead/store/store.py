"""The one class that runs the statements. It decides nothing: what it writes was decided before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any, Self
from uuid import UUID

import asyncpg
import msgspec

from stead.batcher import Batcher
from stead.lifecycle.snapshot import Fence, Holder
from stead.origin import parts
from stead.store.access import AccessStatements
from stead.store.affected import AffectedStatements
from stead.store.attachments import Attachments
from stead.store.audit import AuditStatements
from stead.store.commit import LANE, Change, CommitResult, Conflict, Expansion, conflict_of
from stead.store.connections import Connections
from stead.store.durations import Durations
from stead.store.groups import Groups
from stead.store.identities import Identities
from stead.store.incarnation import Incarnation
from stead.store.lanes import LaneGrants
from stead.store.leases import Leases
from stead.store.lifecycles import Lifecycles
from stead.store.migrate import MigrationFailed
from stead.store.nodes import Nodes
from stead.store.orphans import Orphans
from stead.store.overview import Overviews
from stead.store.pages import Pages
from stead.store.partitions import Days
from stead.store.queues import Queues
from stead.store.quotas import Quotas
from stead.store.recovery import Recovery
from stead.store.resource_row import Row, holder_of, row_of
from stead.store.scaling import Scalings
from stead.store.sites import Sites
from stead.store.summary import ResourceSummary, brief_of
from stead.store.systems import Systems

_encode = msgspec.json.Encoder().encode

MOST_MEMBERS = 100
"""Members in one order: as many as one call to a provider usually takes."""

TOO_LATE = "ST001"
"""What the commit function says where all was to be written or nothing, and something had changed."""

APART = "ST003"
"""What the database says where a lease, its reservations and its events would not go together."""

OTHERWISE = "ST004"
"""What it says where a registered lifecycle is another by now, and lacks what was decided."""

DEADLOCK = "40P01"

NOT_ALLOWED = "ST005"
"""What it says where a row would get a lane that its namespace may not use."""

CONFLICTS = {TOO_LATE: "version", DEADLOCK: "version", APART: "together", OTHERWISE: "lifecycle", NOT_ALLOWED: LANE}
"""What became of a change, by what the database says."""

KEYS = "idempotency_keys_pkey"
"""What it names where somebody else has used a request's key in the meantime: whoever asks anew finds it."""


class CellMissing(MigrationFailed):
    """There is a schema and no cell: nobody has said yet that the database is of another time."""


class Store(
    Groups,
    Queues,
    Orphans,
    Overviews,
    AccessStatements,
    AuditStatements,
    Identities,
    Scalings,
    Sites,
    Systems,
    Nodes,
    Attachments,
    AffectedStatements,
    Pages,
    Days,
    Durations,
    Quotas,
    Leases,
    Lifecycles,
    LaneGrants,
    Recovery,
):
    """All statements, on a pool of connections."""

    def __init__(self, pool: Connections, known: Incarnation | None = None) -> None:
        super().__init__(pool)
        self._known = known or Incarnation()
        self.clock = self._known.clock
        self._read = Batcher(self._read_each, 100)

    def _on(self, pool: Connections) -> Self:
        return type(self)(pool, self._known)

    @classmethod
    @asynccontextmanager
    async def open(cls, dsn: str, *, connections: int = 10) -> AsyncIterator[Store]:
        """A store on a database whose schema is there already."""
        known = Incarnation()

        async def meet(connection: asyncpg.Connection[asyncpg.Record]) -> None:
            await speak_json(connection)
            try:
                met = await connection.fetchval("SELECT meet_server()")
            except asyncpg.ObjectNotInPrerequisiteStateError as error:  # it is being recovered
                raise StandbyReached("the database server follows another, and takes no changes") from error
            known.now = met or known.now  # none where there is no cell yet

        async with Connections(dsn, connections, meet, known.clock) as pool:
            store = cls(pool, known)
            await store.cell()
            yield store

    @property
    def incarnation(self) -> int:
        """Of the cell, as it was last read."""
        return self._known.now

    def connections(self) -> tuple[int, int, int]:
        """To the database: in use, idle, and how many there may be."""
        return self._pool.counts()

    @property
    def trouble(self) -> str:
        """What keeps the database from being used; empty if nothing does."""
        return self._pool.trouble

    # Resources

    async def read(self, path: str) -> Row | None:
        """A resource, or None where there is none."""
        return await self._read(path)

    async def _read_each(self, paths: Sequence[str]) -> list[Row | None]:
        rows = await self.read_many(paths)
        return [rows.get(path) for path in paths]

    async def read_many(self, paths: Sequence[str]) -> dict[str, Row]:
        """Resources by path; those that do not exist are left out."""
        return {r["path"]: row_of(r) for r in await self.fetch("read_resources", list(paths))}

    async def paths(
        self, kind: str | None, below: str, after: str, limit: int, least: int | None = None
    ) -> list[str]:
        """Paths of resources below a path, in order, from after one on; with `least`, of those whose names are
        numbers that are not less."""
        return [r["path"] for r in await self.fetch("list_resources", kind, below, after, limit, least)]

    async def briefs(self, paths: Sequence[str]) -> dict[str, ResourceSummary]:
        """Resources by path in brief; those that do not exist are left out."""
        return {r["path"]: brief_of(r) for r in await self.fetch("read_briefs", list(paths))}

    async def states(self, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
        """By path, what is there, and its state."""
        return {r["path"]: (r["kind"], r["state"]) for r in await self.fetch("read_states", list(paths))}

    async def below(self, paths: Sequence[str]) -> dict[str, int]:
        """Of some paths, those that something lies below, and how much, up to a hundred."""
        return {r["path"]: r["things"] for r in await self.fetch("count_below", list(paths))}

    async def due(self, now: float, limit: int) -> list[ResourceSummary]:
        """Resources with a timer that is due."""
        return [brief_of(r) for r in await self.fetch("due_resources", now, limit)]

    async def set_timers(self, timers: Sequence[tuple[ResourceSummary, Mapping[str, float]]]) -> None:
        """Set the timers of resources, each unless it or a timer of it has changed since it was read."""
        ids, versions = [brief.id for brief, _ in timers], [brief.version for brief, _ in timers]
        before = [brief.timers for brief, _ in timers]
        await self.fetch("set_timers", ids, versions, before, [dict(of) for _, of in timers])

    async def renew(self, agent: str, epoch: int, members: Mapping[str, Fence], due: float) -> set[str]:
        """Put the end of custody off; answers with the members whose custody the agent still has."""
        fences = members.values()
        numbers = [f.incarnation for f in fences], [f.counter for f in fences]
        rows = await self.fetch("renew_custody", list(members), *numbers, agent, due, epoch)
        return {r["path"] for r in rows}

    async def due_looks(self, limit: int, pause: float) -> list[str]:
        """Settled resources to be looked at now; others are not told of them for so many seconds."""
        return [r["path"] for r in await self.fetch("due_looks", limit, pause)]

    async def refreshable(self, below: str, after: str, limit: int, still: Sequence[str], pause: float) -> list[str]:
        """Resources at a path and below it that may have changed by themselves; in `still` states, after a pause."""
        return [r["path"] for r in await self.fetch("refreshable", below, after, limit, pause, list(still))]

    async def saw(self, paths: Sequence[str], pause: float) -> None:
        """They were looked at, and all is as it was believed to be."""
        await self.fetch("mark_seen", list(paths), pause)

    async def rosters(self, asked: Sequence[tuple[str, str]], limit: int) -> list[list[Row]]:
        """For each lane and path, the resources on that lane after that path, in order; without claims on them."""
        lanes, after = zip(*asked, strict=True)
        pages: list[list[Row]] = [[] for _ in asked]
        for record in await self.fetch("list_rosters", list(lanes), list(after), limit):
            pages[record["number"] - 1].append(row_of(record))
        return pages

    # The cell, its agents and its lanes

    async def cell(self) -> Mapping[str, Any]:
        """What the cell knows of itself."""
        records = await self.fetch("read_cell")
        if not records:
            raise CellMissing("this database was brought back by hand from a backup: see `stead backup raise --help`")
        self._known.now = records[0]["incarnation"]
        return dict(records[0])

    async def raise_incarnation(self) -> int:
        """The database went back in time: whatever was said before under any fence is void from now on."""
        (record,) = await self.fetch("raise_incarnation")
        self._known.now = record["incarnation"]
        return self.incarnation

    async def set_bus(self, identity: str) -> int:
        """The streams that there are now; the epoch they belong to."""
        (record,) = await self.fetch("set_bus", identity)
        epoch: int = record["bus_epoch"]
        return epoch

    async def untaken(self, after: int, limit: int) -> list[Mapping[str, Any]]:
        """Orders that nobody has taken, in the order of their numbers, as agents are told of them."""
        orders: list[Mapping[str, Any]] = await self._pool.fetchval(self._text("untaken_orders"), after, limit)
        return orders

    async def orders(self, numbers: Sequence[int]) -> list[Mapping[str, Any]]:
        """Orders by number, as agents are told of them."""
        orders: list[Mapping[str, Any]] = await self._pool.fetchval("SELECT orders_as_told($1)", list(numbers))
        return orders

    async def throttled(self, lane: str, calls: int) -> None:
        """A provider has refused so many calls on a lane because there were too many."""
        await self.fetch("note_throttled", lane, calls)

    async def due_survey(self, pause: float) -> str | None:
        """A lane whose full state is wanted now; others are not told of it for so many seconds."""
        rows = await self.fetch("due_survey", pause)
        return rows[0]["name"] if rows else None

    async def lanes(self, after: str, limit: int, there: float) -> list[Mapping[str, Any]]:
        """Lanes in order of name; an agent is there if it was heard of in so many seconds."""
        return [dict(r) for r in await self.fetch("list_lanes", after, limit, there)]

    async def owners(self, tokens: Sequence[str]) -> dict[str, Row]:
        """Resources by the token under which a provider knows them."""
        paths = [r["path"] for r in await self.fetch("owners", list(tokens))]
        return {str(row.token): row for row in (await self.read_many(paths)).values()}

    # Changes

    async def commit(
        self,
        changes: Sequence[Change],
        at: float,
        expansion: Expansion | None = None,
    ) -> CommitResult:
        """Write changes in one transaction; each is written whole or answered with a conflict.

        With an expansion, all of them are written or none.
        """
        numbers: dict[tuple[object, ...], int] = {}
        templates: list[dict[str, Any]] = []
        which: list[int] = []
        for change in changes:
            begins = change.begin.id if change.begin else None
            key = (id(change.template), change.principal, begins, change.custody, change.origin)
            number = numbers.get(key)
            if number is None:
                templates.append(change.common(at))
                number = numbers[key] = len(templates)
            which.append(number)
        try:
            answer = await self._pool.fetchval(
                "SELECT commit_sets($1, $2, $3, $4, $5, $6, $7, $8)",
                templates,
                which,
                [change.brief.id or None for change in changes],
                [change.brief.version for change in changes],
                _own(changes),
                at,
                None if expansion is None else expansion.written(),
                MOST_MEMBERS,
            )
        except asyncpg.PostgresError as error:
            known = error.constraint_name == KEYS
            if (known or error.sqlstate in (APART, NOT_ALLOWED)) and len(changes) > 1 and expansion is None:
                return await self._one_by_one(changes, at)
            kind = "version" if known else CONFLICTS.get(error.sqlstate or "")
            if kind is None:
                raise
            refused = _not_written(len(changes), kind, error)
            return CommitResult(refused, [], [], late=expansion is not None)
        answer = {"orders": [], "recount": [], **answer}
        conflicts = {c["n"] - 1: conflict_of(changes[c["n"] - 1].brief.path, c) for c in answer["conflicts"]}
        del answer["conflicts"]
        return CommitResult(conflicts, **answer)

    async def _one_by_one(self, changes: Sequence[Change], at: float) -> CommitResult:
        """One of them does not go together with what there is: that one alone is not written."""
        all_ = CommitResult({}, [], [])
        conflicts: dict[int, Conflict] = {}
        for number, change in enumerate(changes):
            written = await self.commit([change], at)
            if written.conflicts:
                conflicts[number] = written.conflicts[0]
            for name in ("orders", "recount", "expanding", "waiting", "queues"):
                getattr(all_, name).extend(getattr(written, name))
        return replace(all_, conflicts=conflicts)

    async def refuse(
        self, path: str, kind: str, principal: str, action: str, actor: str, state: str, reasons: Mapping[str, Any]
    ) -> None:
        """Tell the journal of a refusal."""
        text = self._text("write_refusal")
        await self._pool.execute(text, path, kind, principal, action, state, dict(reasons), actor, *parts())

    # Lanes and their room

    async def waiting(self, least: float) -> list[str]:
        """Lanes on which orders have waited for room for so many seconds."""
        return [r["lane"] for r in await self.fetch("waiting_lanes", least)]

    async def limit_lane(self, name: str, members: int | None) -> None:
        """So many members at once on a lane; None: as its provider has it."""
        await self.fetch("limit_lane", name, members)

    async def limit_provider(self, name: str, members: int | None, regions: int | None) -> None:
        """So many members at once in a region, and so many regions at once; None: as many as there are."""
        await self.fetch("limit_provider", name, members, regions)

    async def grant(self, lanes: Sequence[str], at: float, *, split: bool) -> list[Mapping[str, Any]]:
        """Give room to orders that wait on these lanes; which may be sent now. `split` divides what does not fit."""
        name = "split_and_grant_orders" if split else "grant_orders"
        orders: list[Mapping[str, Any]] = await self._pool.fetchval(self._text(name), list(lanes), at)
        return orders

    async def halve_order(self, id: int) -> list[Mapping[str, Any]]:
        """Divide an order that no agent has; both halves, or nothing if it has changed meanwhile."""
        orders: list[Mapping[str, Any]] = await self._pool.fetchval(self._text("halve_order"), id)
        return orders

    # Operations, claims, journal

    async def say(self, operation: UUID, says: str) -> None:
        """What an operation waits for, or why it is about to fail."""
        await self.fetch("say", operation, says)

    async def operation(self, id: UUID) -> Mapping[str, Any] | None:
        """An operation that waits, is under way or has ended."""
        rows = await self.fetch("read_operation", id)
        return dict(rows[0]) if rows else None

    async def operation_members(self, id: UUID, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Members that did not do what an operation asked of them, or could not be asked, each with why."""
        return [dict(r) for r in await self.fetch("list_operation_members", id, after, limit)]

    async def key(self, principal: str, key: str, fingerprint: str) -> Conflict | None:
        """What an idempotency key was used for, if it was."""
        rows = await self.fetch("read_key", principal, key)
        if not rows:
            return None
        return Conflict("key", operation=str(rows[0]["operation"]), same=rows[0]["fingerprint"] == fingerprint)

    async def keep_key(self, principal: str, key: str, fingerprint: str, operation: UUID) -> bool:
        """An idempotency key is used for an operation that others began; whether it was still free."""
        return bool(await self.fetch("keep_key", principal, key, fingerprint, operation))

    async def claims(self, below: str, limit: int) -> list[Mapping[str, Any]]:
        """Claims on a path and below it."""
        return [dict(r) for r in await self.fetch("list_claims", below, limit)]

    async def holders(self, path: str, limit: int = 20) -> list[Holder]:
        """Everybody who has a claim in the way of a change of a path."""
        found = (holder_of(dict(r), path) for r in await self.fetch("list_holders", path, limit))
        return [holder for holder in found if holder is not None]

    async def number_journal(self, most: int = 5000) -> tuple[int, int, list[str]]:
        """Give positions to what has committed; the last position, how many were given, and below which paths.

        Where an older controller has numbered lines without hashes, these get theirs first.
        """
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._text("lock_cell"))
            while await connection.fetchval(self._text("unchained")):
                await connection.execute(self._text("chain_journal"), most)
            (record,) = await connection.fetch(self._text("number_journal"), most)
            if record["gone"]:
                await connection.execute(self._text("forget_counts"), record["gone"], record["kinds"])
        return record["last_position"], record["numbered"], record["parents"]

    async def steps(self, id: UUID, path: str, since: datetime) -> tuple[int | None, bool]:
        """The first position of an operation in the journal, and whether some of its lines have none yet."""
        (record,) = await self.fetch("find_steps", id, path, since)
        return record["first"], record["unnumbered"]

    async def last_errors(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, the last error that was told of each, where there was one."""
        return {r["path"]: r["error"] for r in await self.fetch("last_errors", list(paths))} if paths else {}

    async def past(self, path: str, until: datetime) -> list[Mapping[str, Any]]:
        """Everything that the journal has of one path up to a time, refusals apart."""
        return [dict(r) for r in await self.fetch("read_past", path, until)]


def _not_written(count: int, kind: str, error: asyncpg.PostgresError) -> dict[int, Conflict]:
    """What became of changes of which none was written: those on lanes that are not allowed are told apart."""
    refused = json.loads(error.detail) if error.sqlstate == NOT_ALLOWED and error.detail else {}
    found = dict.fromkeys(range(count), Conflict(kind, says=error.args[0], refused=refused))
    if error.sqlstate == TOO_LATE and error.detail:
        lanes = [told for told in json.loads(error.detail) if told["conflict"] == LANE]
        found |= {told["n"] - 1: conflict_of("", told) for told in lanes}
    return found


def _own(changes: Sequence[Change]) -> list[dict[str, Any] | None] | None:
    """What each has of its own, if any has something."""
    extras = [change.extra() for change in changes]
    return extras if any(extra is not None for extra in extras) else None


class StandbyReached(ConnectionError):
    """The way to the database leads to a server that follows another: in a moment it leads elsewhere."""


async def speak_json(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """JSON goes in and out as Python values."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: b"\x01" + _encode(value),
        decoder=lambda data: json.loads(data[1:]),
        format="binary",
    )
