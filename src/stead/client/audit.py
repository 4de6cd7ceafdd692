"""The part of the client that reads the journal as an audit trail."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any

from msgspec import Struct

from stead.client.chain import ChainedLine
from stead.client.transport import Transport

PAGE = 2000


class Archive(Struct, frozen=True, kw_only=True):
    """Lines that were taken out of the journal, and the file that they are in."""

    first: int
    last: int
    previous: str | None
    hash: str | None
    until: datetime
    file: str
    sha256: str
    by: str
    at: datetime


class Head(Struct, frozen=True, kw_only=True):
    """How far the chain of hashes has come."""

    position: int
    hash: str
    after: int
    """The first line that has a hash comes after this position."""
    began_at: datetime
    end: int
    """The last position there is."""
    archives: tuple[Archive, ...] = ()
    before: int | None = None
    """The last position of lines from before the time that was asked for."""


class NextArchive(Struct, frozen=True, kw_only=True):
    """What could be archived next: all lines of one day, and those that stand between them."""

    first: int
    last: int
    until: datetime
    waits: bool = False
    """Some have no position yet: ask again in a moment."""


class NextArchives(Struct, frozen=True, kw_only=True):
    """What could be archived next, if anything."""

    next: NextArchive | None = None


class Audits:
    """The trail, and its head."""

    _transport: Transport

    async def journal_head(self, *, before: datetime | None = None) -> Head:
        """How far the chain of hashes has come; with a time, also up to where lines are from before it."""
        query = {"before": before.isoformat() if before is not None else None}
        return await self._transport.send(Head, "GET", "/v1/journal/head", query=query)

    async def journal_trail(self, *, after: int = 0, limit: int = PAGE) -> AsyncGenerator[list[bytes]]:
        """Lines from after a position on as they are hashed and exported, page by page: see `stead.client.chain`."""
        while True:
            query = {"after": after, "limit": limit}
            page = (await self._transport.send(bytes, "GET", "/v1/journal/export", query=query)).splitlines()
            if page:
                yield page
            if len(page) < limit:
                return
            after = ChainedLine.read(page[-1]).position

    async def next_archive(self, before: datetime) -> NextArchive | None:
        """What could be archived next, of lines from before a time."""
        query = {"before": before.isoformat()}
        return (await self._transport.send(NextArchives, "GET", "/v1/journal/archives/next", query=query)).next

    async def archive_journal(self, what: Mapping[str, Any]) -> Archive:
        """Take lines out of the journal that are in a file."""
        return await self._transport.send(Archive, "POST", "/v1/journal/archives", body=what)
