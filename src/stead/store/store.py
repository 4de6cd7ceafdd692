"""The one class that runs the statements. It decides nothing: what it writes was decided before."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from stead.lifecycle.snapshot import Fence, Holder
from stead.store.brief import Brief, brief_of
from stead.store.change import Change, Conflict, Custody, Expansion, Written
from stead.store.row import Row, holder_of, row_of

_SQL = files("stead.store") / "sql"
_encode = msgspec.json.Encoder().encode

MOST_MEMBERS = 100
"""Members in one order: as many as one call to a provider usually takes."""

TOO_LATE = "ST001"
"""What the commit function says where all was to be written or nothing, and something had changed."""


def statement(name: str) -> str:
    """The text of a named statement."""
    return (_SQL / f"{name}.sql").read_text(encoding="utf-8")


class Store:
    """A pool of connections and the statements that run on them."""

    def __init__(self, pool: asyncpg.Pool[asyncpg.Record]) -> None:
        self._pool = pool
        self.incarnation = 1
        """Of the cell, as it was last read."""
        self._statements: dict[str, str] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, dsn: str, *, connections: int = 10) -> AsyncIterator[Store]:
        """A store on a database whose schema is there already."""
        async with asyncpg.create_pool(dsn, min_size=1, max_size=connections, init=speak_json) as pool:
            store = cls(pool)
            await store.cell()
            yield store

    def _text(self, name: str) -> str:
        if name not in self._statements:
            self._statements[name] = statement(name)
        return self._statements[name]

    async def _fetch(self, name: str, *values: Any) -> list[asyncpg.Record]:
        return await self._pool.fetch(self._text(name), *values)

    # Resources

    async def read(self, path: str) -> Row | None:
        """A resource, or None where there is none."""
        rows = await self.read_many([path])
        return rows.get(path)

    async def read_many(self, paths: Sequence[str]) -> dict[str, Row]:
        """Resources by path; those that do not exist are left out."""
        return {r["path"]: row_of(r) for r in await self._fetch("read_resources", list(paths))}

    async def paths(self, kind: str | None, below: str, after: str, limit: int) -> list[str]:
        """Paths of resources below a path, in order, from after one on."""
        return [r["path"] for r in await self._fetch("list_resources", kind, below, after, limit)]

    async def briefs(self, paths: Sequence[str]) -> dict[str, Brief]:
        """Resources by path in brief; those that do not exist are left out."""
        return {r["path"]: brief_of(r) for r in await self._fetch("read_briefs", list(paths))}

    async def due(self, now: float, limit: int) -> list[Brief]:
        """Resources with a timer that is due."""
        return [brief_of(r) for r in await self._fetch("due_resources", now, limit)]

    async def renew(self, agent: str, epoch: int, members: Mapping[str, Fence], due: float) -> set[str]:
        """Put the end of custody off; answers with the members whose custody the agent still has."""
        fences = members.values()
        numbers = [f.incarnation for f in fences], [f.counter for f in fences]
        rows = await self._fetch("renew_custody", list(members), *numbers, agent, due, epoch)
        return {r["path"] for r in rows}

    async def due_looks(self, limit: int, pause: float) -> list[str]:
        """Settled resources to be looked at now; others are not told of them for so many seconds."""
        return [r["path"] for r in await self._fetch("due_looks", limit, pause)]

    async def saw(self, paths: Sequence[str], pause: float) -> None:
        """They were looked at, and all is as it was believed to be."""
        await self._fetch("mark_seen", list(paths), pause)

    async def roster(self, lane: str, after: str, limit: int) -> list[str]:
        """Paths of resources on a lane, in order."""
        return [r["path"] for r in await self._fetch("list_lane", lane, after, limit)]

    # The cell, its agents and its lanes

    async def cell(self) -> Mapping[str, Any]:
        """What the cell knows of itself."""
        (record,) = await self._fetch("read_cell")
        self.incarnation = record["incarnation"]
        return dict(record)

    async def raise_incarnation(self) -> int:
        """The database went back in time: whatever was said before under any fence is void from now on."""
        (record,) = await self._fetch("raise_incarnation")
        self.incarnation = record["incarnation"]
        return self.incarnation

    async def set_bus(self, identity: str) -> int:
        """The streams that there are now; the epoch they belong to."""
        (record,) = await self._fetch("set_bus", identity)
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

    async def hello(self, agent: str, epoch: int, lanes: Sequence[str], version: str) -> bool:
        """An agent is there; whether this run of it is the latest that was heard of."""
        return bool(await self._fetch("meet_agent", agent, epoch, list(lanes), version))

    async def due_survey(self, pause: float) -> str | None:
        """A lane whose full state is wanted now; others are not told of it for so many seconds."""
        rows = await self._fetch("due_survey", pause)
        return rows[0]["name"] if rows else None

    async def lanes(self, after: str, limit: int, there: float) -> list[Mapping[str, Any]]:
        """Lanes in order of name; an agent is there if it was heard of in so many seconds."""
        return [dict(r) for r in await self._fetch("list_lanes", after, limit, there)]

    # Orphans

    async def owners(self, tokens: Sequence[str]) -> dict[str, Row]:
        """Resources by the token under which a provider knows them."""
        paths = [r["path"] for r in await self._fetch("owners", list(tokens))]
        return {str(row.token): row for row in (await self.read_many(paths)).values()}

    async def note_orphans(self, lane: str, found: Sequence[Mapping[str, Any]]) -> None:
        """What was found on a lane and nobody owns."""
        await self._fetch("note_orphans", lane, [dict(one) for one in found])

    async def forget_orphans(self, lane: str, before: float) -> int:
        """What was found before that time and not since is no longer there, or somebody's."""
        return len(await self._fetch("forget_orphans", lane, before))

    async def orphans(self, lane: str | None, limit: int) -> list[Mapping[str, Any]]:
        """What was found at least twice."""
        return [dict(r) for r in await self._fetch("list_orphans", lane, limit)]

    # Changes

    async def commit(
        self,
        changes: Sequence[Change],
        at: float,
        custody: Custody | None = None,
        expansion: Expansion | None = None,
    ) -> Written:
        """Write changes in one transaction; each is written whole or answered with a conflict.

        With an expansion, all of them are written or none.
        """
        numbers: dict[tuple[int, str, UUID | None], int] = {}
        templates: list[dict[str, Any]] = []
        which: list[int] = []
        for change in changes:
            key = (id(change.template), change.principal, change.begin.id if change.begin else None)
            number = numbers.get(key)
            if number is None:
                templates.append(change.common(at))
                number = numbers[key] = len(templates)
            which.append(number)
        try:
            answer = await self._pool.fetchval(
                "SELECT commit_sets($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                templates,
                which,
                [change.brief.id or None for change in changes],
                [change.brief.version for change in changes],
                [change.extra() for change in changes],
                None if custody is None else {"agent": custody.agent, "epoch": custody.epoch},
                at,
                None if expansion is None else expansion.written(),
                MOST_MEMBERS,
            )
        except asyncpg.PostgresError as error:
            if error.sqlstate != TOO_LATE:
                raise
            return Written(dict.fromkeys(range(len(changes)), Conflict("version")), [], [])
        answer = {"orders": [], "recount": [], **answer}
        conflicts = {c["n"] - 1: _conflict(changes[c["n"] - 1].brief.path, c) for c in answer["conflicts"]}
        del answer["conflicts"]
        return Written(conflicts, **answer)

    async def refuse(
        self, path: str, kind: str, principal: str, action: str, actor: str, state: str, reasons: Mapping[str, Any]
    ) -> None:
        """Tell the journal of a refusal."""
        text = self._text("write_refusal")
        await self._pool.execute(text, path, kind, principal, action, state, dict(reasons), actor)

    # Lanes and their room

    async def waiting(self, least: float) -> list[str]:
        """Lanes on which orders have waited for room for so many seconds."""
        return [r["lane"] for r in await self._fetch("waiting_lanes", least)]

    async def limit_lane(self, name: str, members: int | None) -> None:
        """So many members at once on a lane; None: as its provider has it."""
        await self._fetch("limit_lane", name, members)

    async def limit_provider(self, name: str, members: int | None, regions: int | None) -> None:
        """So many members at once in a region, and so many regions at once; None: as many as there are."""
        await self._fetch("limit_provider", name, members, regions)

    async def grant(self, lanes: Sequence[str], at: float) -> list[Mapping[str, Any]]:
        """Give room to orders that wait on these lanes; those that may be sent now."""
        orders: list[Mapping[str, Any]] = await self._pool.fetchval(self._text("grant_orders"), list(lanes), at)
        return orders

    # Groups

    async def classes(self, kind: str, below: str) -> Counter[Brief]:
        """The members of a group, counted by class: a brief of each class, with nobody's own in it."""
        rows = await self._fetch("count_classes", kind, below)
        return Counter({brief_of(r): r["members"] for r in rows})

    async def expansion(self, operation: str) -> Mapping[str, Any] | None:
        """What an operation still asks of the members of its group."""
        rows = await self._fetch("read_expansion", UUID(operation))
        return dict(rows[0]) if rows else None

    async def count_members(self, path: str, kind: str) -> Mapping[str, Any] | None:
        """How many members of a kind a group has in which state, and how its operation stands."""
        rows = await self._fetch("count_members", path, kind)
        return dict(rows[0]) if rows else None

    async def unfinished_groups(self) -> Mapping[str, list[str]]:
        """Operations whose members were not all asked, and groups whose last member was not counted."""
        (record,) = await self._fetch("unfinished_groups")
        return {"expanding": [str(id) for id in record["expanding"]], "counted": record["counted"]}

    # Operations, claims, journal

    async def operation(self, id: UUID) -> Mapping[str, Any] | None:
        """An operation, under way or ended."""
        rows = await self._fetch("read_operation", id)
        return dict(rows[0]) if rows else None

    async def operation_members(self, id: UUID, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Members that did not do what an operation asked of them, or could not be asked, each with why."""
        return [dict(r) for r in await self._fetch("list_operation_members", id, after, limit)]

    async def key(self, principal: str, key: str, fingerprint: str) -> Conflict | None:
        """What an idempotency key was used for, if it was."""
        rows = await self._fetch("read_key", principal, key)
        if not rows:
            return None
        return Conflict("key", operation=str(rows[0]["operation"]), same=rows[0]["fingerprint"] == fingerprint)

    async def keep_key(self, principal: str, key: str, fingerprint: str, operation: UUID) -> bool:
        """An idempotency key is used for an operation that others began; whether it was still free."""
        return bool(await self._fetch("keep_key", principal, key, fingerprint, operation))

    async def claims(self, below: str, limit: int) -> list[Mapping[str, Any]]:
        """Claims on a path and below it."""
        return [dict(r) for r in await self._fetch("list_claims", below, limit)]

    async def holders(self, path: str, limit: int = 20) -> list[Holder]:
        """Everybody who has a claim in the way of a change of a path."""
        found = (holder_of(dict(r), path) for r in await self._fetch("list_holders", path, limit))
        return [holder for holder in found if holder is not None]

    async def number_journal(self, most: int = 5000) -> tuple[int, int]:
        """Give positions to what has committed; the last position, and how many were given."""
        async with self._pool.acquire() as connection, connection.transaction():
            await connection.execute(self._text("lock_cell"))
            (record,) = await connection.fetch(self._text("number_journal"), most)
        return record["last_position"], record["numbered"]

    async def make_partitions(self, days: int) -> int:
        """Make the partitions of the days to come; how many were missing."""
        made: int = await self._pool.fetchval("SELECT make_partitions($1)", days)
        return made

    async def journal(self, after: int, *, path: str | None = None, limit: int = 100) -> list[Mapping[str, Any]]:
        """Lines of the journal from after a position on."""
        return [dict(r) for r in await self._fetch("read_journal", after, path, limit)]

    async def past(self, path: str, until: datetime) -> list[Mapping[str, Any]]:
        """Everything that the journal has of one path up to a time, refusals apart."""
        return [dict(r) for r in await self._fetch("read_past", path, until)]


def _conflict(path: str, answer: Mapping[str, Any]) -> Conflict:
    return Conflict(
        answer["conflict"],
        holder_of(answer.get("holder"), path),
        answer.get("operation") or "",
        answer.get("same", True),
    )


async def speak_json(connection: asyncpg.Connection[asyncpg.Record]) -> None:
    """JSON goes in and out as Python values."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: b"\x01" + _encode(value),
        decoder=lambda data: json.loads(data[1:]),
        format="binary",
    )
