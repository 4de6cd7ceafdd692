"""Claims: which operation may change which path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

import asyncpg

from stead.lifecycle.snapshot import Holder
from stead.store.resource_row import holder_of
from stead.store.statements import StorePart


class Claims(StorePart):
    """Claims of operations on paths."""

    async def list_below(self, below: str, limit: int) -> list[Mapping[str, Any]]:
        """Claims on a path and below it."""
        return [dict(r) for r in await self._sql.fetch("list_claims", below, limit)]

    async def find_holders(self, path: str, limit: int = 20) -> list[Holder]:
        """Everybody who has a claim in the way of a change of a path."""
        found = (holder_of(dict(r), path) for r in await self._sql.fetch("list_holders", path, limit))
        return [holder for holder in found if holder is not None]

    async def find_held_below(self, path: str, operation: str = "", without: str = "") -> dict[str, Holder]:
        """By path below one, the operation that has an exclusive claim on it: one operation apart, and those on
        resources of one kind."""
        rows = await self._sql.fetch("list_held_claims", path, UUID(operation) if operation else None)
        return {r["path"]: _holder(r) for r in rows if r["kind"] != without}


def _holder(record: asyncpg.Record) -> Holder:
    by, since = record["by"], record["since"].isoformat()
    return Holder(str(record["operation"]), record["action"], record["path"], by, since)
