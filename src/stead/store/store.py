"""The one class that runs the statements. It decides nothing: what it writes was decided before."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any
from uuid import UUID

import asyncpg
import msgspec

from stead.lifecycle.snapshot import Fence
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
        self._statements: dict[str, str] = {}

    @classmethod
    @asynccontextmanager
    async def open(cls, dsn: str, *, connections: int = 10) -> AsyncIterator[Store]:
        """A store on a database whose schema is there already."""
        async with asyncpg.create_pool(dsn, min_size=1, max_size=connections, init=speak_json) as pool:
            yield cls(pool)

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

    # Changes

    async def commit(self, changes: Iterable[Change]) -> list[Committed | Conflict]:
        """Write changes in one transaction, in order of path; each is written whole or answered with a conflict."""
        batch = list(changes)
        order = sorted(range(len(batch)), key=lambda i: batch[i].row.path)
        written = [batch[i].written() for i in order]
        answers = await self._pool.fetchval("SELECT commit_changes($1::jsonb)", written)
        results: list[Committed | Conflict] = [Conflict("version")] * len(batch)
        for i, answer in zip(order, answers, strict=True):
            results[i] = _result(answer)
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

    async def claims(self, below: str, limit: int) -> list[Mapping[str, Any]]:
        """Claims on a path and below it."""
        return [dict(r) for r in await self._fetch("list_claims", below, limit)]

    async def number_journal(self, most: int = 5000) -> tuple[int, int]:
        """Give positions to what has committed; the last position, and how many were given."""
        (record,) = await self._fetch("number_journal", most)
        return record["last_position"], record["numbered"]

    async def make_partitions(self, days: int) -> int:
        """Make the partitions of the days to come; how many were missing."""
        made: int = await self._pool.fetchval("SELECT make_partitions($1)", days)
        return made

    async def journal(self, after: int, *, path: str | None = None, limit: int = 100) -> list[Mapping[str, Any]]:
        """Lines of the journal from after a position on."""
        return [dict(r) for r in await self._fetch("read_journal", after, path, limit)]


def _result(answer: Mapping[str, Any]) -> Committed | Conflict:
    if "conflict" not in answer:
        return Committed(answer["id"], answer["order"] or 0)
    return Conflict(
        answer["conflict"],
        holder_of(answer.get("holder")),
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
