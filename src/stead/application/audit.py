"""The journal as an audit trail: its chain of hashes, and lines that are archived."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from stead.access.authorized import Authorized
from stead.access.policies import ACCESS, VIEW
from stead.application.commands import Application
from stead.store.journal import ChainedLine

type Record = Mapping[str, Any]


@dataclass(frozen=True)
class Audit:
    """Queries and commands of the audit trail; they are about the whole cell."""

    application: Application

    async def head(self, authorized: Authorized) -> Record:
        """How far the chain of hashes has come."""
        authorized.check(VIEW)
        return await self.application.reader.store.journal.read_head()

    async def archives(self, authorized: Authorized) -> Sequence[Record]:
        """What was taken out of the journal, in order."""
        authorized.check(VIEW)
        return await self.application.reader.store.archives.read_all()

    async def last_before(self, at: datetime, authorized: Authorized) -> int | None:
        """The last position of lines from before a time."""
        authorized.check(VIEW)
        return await self.application.reader.store.journal.last_position_before(at)

    async def lines(self, after: int, limit: int, authorized: Authorized) -> Sequence[ChainedLine]:
        """Lines as they are hashed, from after a position on."""
        authorized.check(VIEW)
        return await self.application.reader.store.journal.read_chain(after, limit)

    async def next_archive(self, before: datetime, authorized: Authorized) -> Record | None:
        """The lines that could be archived next."""
        authorized.check(ACCESS)
        return await self.application.reader.store.archives.next(before)

    async def archive(self, what: Record, digest: bytes, start: bytes, authorized: Authorized) -> Record:
        """Take lines out of the journal that are in a file. Raises `ArchivingFailed`."""
        authorized.check(ACCESS)
        store = self.application.reader.store
        await store.archives.add({**what, "by": authorized.principal}, digest, start)
        (found,) = [record for record in await store.archives.read_all() if record["first"] == what["first"]]
        return found
