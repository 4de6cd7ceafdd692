"""The one class that runs the statements. It decides nothing: what it writes was decided before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.resources import files
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from stead.lifecycle.snapshot import Fence, Holder
from stead.store.change import Change, Committed, Conflict
from stead.store.row import Row, holder_of, row_of

_SQL = files("stead.store") / "sql"
_encode = msgspec.json.Encoder().encode


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
        return {r["path"]: row_of(dict(r)) for r in await self._fetch("read_resources", list(paths))}

    async def paths(self, kind: str | None, below: str, after: str, limit: int) -> list[str]:
        """Paths of resources below a path, in order, from after one on."""
        return [r["path"] for r in await self._fetch("list_resources", kind, below, after, limit)]

    async def due(self, now: float, limit: int) -> list[str]:
        """Resources with a timer that is due."""
        return [r["path"] for r in await self._fetch("due_resources", now, limit)]

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

    async def unsent(self, after: int, limit: int) -> list[tuple[int, str]]:
        """Orders that nobody has taken, by number, with the path of their resource."""
        return [(r["id"], r["path"]) for r in await self._fetch("untaken_orders", after, limit)]

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

    async def commit(self, changes: Iterable[Change]) -> list[Committed | Conflict]:
        """Write changes in one transaction, in order of path; each is written whole or answered with a conflict."""
        batch = list(changes)
        order = sorted(range(len(batch)), key=lambda i: batch[i].row.path)
        written = [batch[i].written() for i in order]
        answers = await self._pool.fetchval("SELECT commit_changes($1::jsonb)", written)
        results: list[Committed | Conflict] = [Conflict("version")] * len(batch)
        for i, answer in zip(order, answers, strict=True):
            results[i] = _result(batch[i].row.path, answer)
        return results

    async def refuse(
        self, path: str, kind: str, principal: str, action: str, actor: str, state: str, reasons: Mapping[str, Any]
    ) -> None:
        """Tell the journal of a refusal."""
        text = self._text("write_refusal")
        await self._pool.execute(text, path, kind, principal, action, state, dict(reasons), actor)

    # Operations, claims, journal

    async def operation(self, id: UUID) -> Mapping[str, Any] | None:
        """An operation, under way or ended."""
        rows = await self._fetch("read_operation", id)
        return dict(rows[0]) if rows else None

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


def _result(path: str, answer: Mapping[str, Any]) -> Committed | Conflict:
    if "conflict" not in answer:
        return Committed(answer["id"], answer["order"] or 0)
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
