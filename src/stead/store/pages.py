"""Pages of lists, bounded in bytes: a thousand small items are one page, and so are two large ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from stead.store.statements import Statements

MAX_PAGE_BYTES = 1024 * 1024
"""Bytes of specs, facts, changes and requests on one page of a list, with the item that exceeds them."""


def size_of(content: Mapping[str, Any]) -> int:
    """Bytes of something as JSON."""
    return len(msgspec.json.encode(content, enc_hook=str))


class Pages(Statements):
    """Statements that read a page of a list."""

    async def journal(
        self, after: int, *, path: str | None = None, limit: int = 100, bytes: int | None = None
    ) -> list[Mapping[str, Any]]:
        """Lines of the journal from after a position on, within `bytes`; `found` tells how many there are without."""
        return [dict(r) for r in await self.fetch("read_journal", after, path, limit, bytes)]

    async def begins(
        self, after: int, path: str | None, limit: int, triggers: Sequence[str]
    ) -> list[Mapping[str, Any]]:
        """Of so many lines of the journal, those with which an operation begins, without what they changed."""
        return [dict(r) for r in await self.fetch("read_begins", after, path, limit, list(triggers))]

    async def fitting(self, paths: Sequence[str]) -> int:
        """How many of some resources fit on one page, in order of path."""
        (record,) = await self.fetch("fit_resources", list(paths), MAX_PAGE_BYTES)
        return int(record["count"])
