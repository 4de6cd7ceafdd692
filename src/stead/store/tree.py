"""The tree of resources: branches with their counts, and leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart


class Tree(StorePart):
    """Resources by what lies below what."""

    async def has_branches(self, below: str) -> bool:
        """Whether something below a path has something below it."""
        (record,) = await self._sql.fetch("has_branches", below)
        return bool(record["found"])

    async def read_branches(self, below: str) -> list[Mapping[str, Any]]:
        """What lies directly below a path, each with how many of what kind are below it in which state."""
        return [dict(r) for r in await self._sql.fetch("list_branches", below.rstrip("/"))]

    async def read_leaves(
        self, below: str, ranks: Mapping[str, int], after: tuple[int, str], limit: int
    ) -> list[Mapping[str, Any]]:
        """Resources below a path that have nothing below them, by the rank of `kind state`, then by name."""
        return [dict(r) for r in await self._sql.fetch("list_leaves", below.rstrip("/"), dict(ranks), *after, limit)]
