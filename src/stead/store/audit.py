"""Statements about the journal as an audit trail: its lines with their hashes, and what was archived."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from stead.store.statements import Statements

ENDLESS = 2**62

ELSEWHERE = "ST005"
"""What the database says where lines cannot be taken out of the journal."""


class ChainedLine(NamedTuple):
    """A line as it is hashed."""

    position: int
    text: str
    hash: bytes | None
    """Of the line before and of the text; None where it was numbered before there were hashes."""
    times: int
    """How often, where it is a refusal."""


class ArchivedRange(NamedTuple):
    """What is in files only."""

    last: int
    """Lines up to this position,"""
    until: datetime
    """from before this time."""
    file: str
    """The last of the files."""


class ArchivingFailed(ValueError):
    """It cannot be archived like this."""


class AuditStatements(Statements):
    """What those ask who do not believe, but look."""

    async def head(self) -> Mapping[str, Any]:
        """How far the chain has come, and where it began."""
        (record,) = await self.fetch("read_head")
        return dict(record)

    async def trail(self, after: int, limit: int, until: int = ENDLESS) -> list[ChainedLine]:
        """Lines from after a position on; some more than the limit where there are two at the last position."""
        rows = await self.fetch("read_trail", after, limit, until)
        return [ChainedLine(r["position"], r["text"], r["hash"], r["refused"]) for r in rows]

    async def last_before(self, at: datetime) -> int:
        """The last position of lines from before a time."""
        (record,) = await self.fetch("last_before", at)
        position: int = record["position"]
        return position

    async def archives(self) -> list[Mapping[str, Any]]:
        """What was taken out of the journal, in order."""
        return [dict(r) for r in await self.fetch("list_archives")]

    async def archived(self) -> ArchivedRange | None:
        """Up to where lines are in files only; None where all of them are here."""
        rows = await self.fetch("archived")
        return ArchivedRange(**rows[0]) if rows else None

    async def next_archive(self, before: datetime) -> Mapping[str, Any] | None:
        """What could be archived next, of lines from before a time."""
        rows = await self.fetch("next_archive", before)
        return dict(rows[0]) if rows else None

    async def archive(self, what: Mapping[str, Any], digest: bytes, start: bytes) -> None:
        """Take lines out of the journal that are in a file, once it is sure that they are. Raises `NotArchived`.

        What is in the file was hashed from its first line on: `start` and `digest` are before and after that. The
        same is done here with what is in the database, so that nothing goes that the file does not have.
        """
        first, last = what["first"], what["last"]
        known = [record for record in await self.archives() if record["first"] == first]
        if not known:
            (found,) = await self.fetch("fold_journal", first, last, start)
            if found["lines"] != last - first + 1 or found["digest"] != digest:
                raise ArchivingFailed("what is in the file is not what is in the database")
            if (found["hash"].hex() if found["hash"] is not None else None) != what["hash"]:
                raise ArchivingFailed("the last line has another hash")
        try:
            await self.audited("archive_journal", dict(what))
        except asyncpg.PostgresError as error:
            if error.sqlstate != ELSEWHERE:
                raise
            raise ArchivingFailed(error.args[0]) from None
