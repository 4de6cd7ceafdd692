"""Archives of the journal: lines that were moved to files."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import asyncpg

from stead.store.statements import StorePart

ARCHIVE_REJECTED = "ST005"
"""What the database says where lines cannot be taken out of the journal."""


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


class Archives(StorePart):
    """Which lines of the journal are in files only."""

    async def read_all(self) -> list[Mapping[str, Any]]:
        """What was taken out of the journal, in order."""
        return [dict(r) for r in await self._sql.fetch("list_archives")]

    async def read_range(self) -> ArchivedRange | None:
        """Up to where lines are in files only; None where all of them are here."""
        rows = await self._sql.fetch("read_archived_range")
        return ArchivedRange(**rows[0]) if rows else None

    async def next(self, before: datetime) -> Mapping[str, Any] | None:
        """What could be archived next, of lines from before a time."""
        return await self._sql.record("next_archive", before)

    async def add(self, what: Mapping[str, Any], digest: bytes, start: bytes) -> None:
        """Take lines out of the journal that are in a file, once it is sure that they are. Raises `NotArchived`.

        What is in the file was hashed from its first line on: `start` and `digest` are before and after that. The
        same is done here with what is in the database, so that nothing goes that the file does not have.
        """
        first, last = what["first"], what["last"]
        known = [record for record in await self.read_all() if record["first"] == first]
        if not known:
            (found,) = await self._sql.fetch("digest_journal", first, last, start)
            if found["lines"] != last - first + 1 or found["digest"] != digest:
                raise ArchivingFailed("what is in the file is not what is in the database")
            if (found["hash"].hex() if found["hash"] is not None else None) != what["hash"]:
                raise ArchivingFailed("the last line has another hash")
        try:
            await self._sql.fetch_audited("archive_journal", dict(what))
        except asyncpg.PostgresError as error:
            if error.sqlstate != ARCHIVE_REJECTED:
                raise
            raise ArchivingFailed(error.args[0]) from None
