"""The journal: every transition and every rejection, numbered after commit and chained by hashes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from stead.origin import address_and_request
from stead.store.statements import StorePart

MAX_POSITION = 2**62


class ChainedLine(NamedTuple):
    """A line as it is hashed."""

    position: int
    text: str
    hash: bytes | None
    """Of the line before and of the text; None where it was numbered before there were hashes."""
    times: int
    """How often, where it is a rejection."""


class Journal(StorePart):
    """Lines of the journal."""

    async def append_rejection(
        self, path: str, kind: str, principal: str, action: str, actor: str, state: str, reasons: Mapping[str, Any]
    ) -> None:
        """Append a rejection."""
        await self._sql.execute(
            "append_rejection", path, kind, principal, action, state, dict(reasons), actor, *address_and_request()
        )

    async def number(self, most: int = 5000) -> tuple[int, int, list[str]]:
        """Give positions to what has committed; the last position, how many were given, and below which paths.

        Where an older controller has numbered lines without hashes, these get theirs first.
        """
        async with self._sql.transaction() as sql:
            await sql.execute("lock_cell")
            while await sql.value("has_unchained_lines"):
                await sql.execute("chain_journal", most)
            (record,) = await sql.fetch("number_journal", most)
            if record["gone"]:
                await sql.execute("delete_empty_counts", record["gone"], record["kinds"])
        return record["last_position"], record["numbered"], record["parents"]

    async def read(
        self, after: int, *, path: str | None = None, limit: int = 100, bytes: int | None = None
    ) -> list[Mapping[str, Any]]:
        """Lines of the journal from after a position on, within `bytes`; `found` tells how many there are without."""
        return [dict(r) for r in await self._sql.fetch("read_journal", after, path, limit, bytes)]

    async def read_operation_starts(
        self, after: int, path: str | None, limit: int, triggers: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        """Of so many lines of the journal, those with which an operation begins, without what they changed."""
        return [dict(r) for r in await self._sql.fetch("read_operation_starts", after, path, limit, list(triggers))]

    async def read_history(self, path: str, until: datetime) -> list[Mapping[str, Any]]:
        """Everything that the journal has of one path up to a time, without rejections."""
        return [dict(r) for r in await self._sql.fetch("read_history", path, until)]

    async def read_last(
        self, asked: Sequence[tuple[str, str, datetime]], limit: int
    ) -> dict[str, list[Mapping[str, Any]]]:
        """By path, the last lines of the journal about it and an operation, from a time on."""
        found: dict[str, list[Mapping[str, Any]]] = {path: [] for path, _, _ in asked}
        if asked:
            paths, operations, since = ([each[i] for each in asked] for i in range(3))
            for row in await self._sql.fetch("read_last_lines", paths, operations, since, limit):
                found[row["path"]].append(dict(row))
        return found

    async def read_last_errors(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, the last error of each, where there was one."""
        return (
            {r["path"]: r["error"] for r in await self._sql.fetch("read_last_errors", list(paths))} if paths else {}
        )

    async def count_transitions(self, since: datetime) -> dict[int, int]:
        """Transitions by second since the epoch, from a time on."""
        return {r["second"]: r["moves"] for r in await self._sql.fetch("count_transitions", since)}

    async def read_head(self) -> Mapping[str, Any]:
        """How far the chain has come, and where it began."""
        (record,) = await self._sql.fetch("read_head")
        return dict(record)

    async def read_chain(self, after: int, limit: int, until: int = MAX_POSITION) -> list[ChainedLine]:
        """Lines from after a position on; some more than the limit where there are two at the last position."""
        rows = await self._sql.fetch("read_chain", after, limit, until)
        return [ChainedLine(r["position"], r["text"], r["hash"], r["rejections"]) for r in rows]

    async def last_position_before(self, at: datetime) -> int:
        """The last position of lines from before a time."""
        (record,) = await self._sql.fetch("read_position_before", at)
        position: int = record["position"]
        return position
