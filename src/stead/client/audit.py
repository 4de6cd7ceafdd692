"""The part of the client that reads the journal as an audit trail."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from datetime import datetime
from typing import Any

from stead.client.journal_chain import ChainedLine
from stead.client.models import Archive, JournalHead, NextArchive, NextArchives
from stead.client.transport import Transport

PAGE = 2000


class AuditClient:
    """The trail, and its head."""

    _transport: Transport

    async def journal_head(self, *, before: datetime | None = None) -> JournalHead:
        """How far the chain of hashes has come; with a time, also up to where lines are from before it."""
        query = {"before": before.isoformat() if before is not None else None}
        return await self._transport.send(JournalHead, "GET", f"{self._transport.cell}/journal/head", query=query)

    async def export_journal(self, *, after: int = 0, limit: int = PAGE) -> AsyncGenerator[list[bytes]]:
        """Lines after a position as they are hashed and exported, in pages: see `stead.client.journal_chain`."""
        while True:
            query = {"after": after, "limit": limit}
            page = (
                await self._transport.send(bytes, "GET", f"{self._transport.cell}/journal/export", query=query)
            ).splitlines()
            if page:
                yield page
            if len(page) < limit:
                return
            after = ChainedLine.read(page[-1]).position

    async def next_archive(self, before: datetime) -> NextArchive | None:
        """What could be archived next, of lines from before a time."""
        query = {"before": before.isoformat()}
        return (
            await self._transport.send(
                NextArchives, "GET", f"{self._transport.cell}/journal/archives/next", query=query
            )
        ).next

    async def archive_journal(self, what: Mapping[str, Any]) -> Archive:
        """Take lines out of the journal that are in a file."""
        return await self._transport.send(Archive, "POST", f"{self._transport.cell}/journal/archives", body=what)
