"""Resources by path, whole or as summaries."""

from __future__ import annotations

from collections.abc import Sequence

from stead.batcher import Batcher
from stead.store.pages import MAX_PAGE_BYTES
from stead.store.resource_row import Row, row_of
from stead.store.statements import Statements, StorePart
from stead.store.summary import ResourceSummary, summary_of


class Resources(StorePart):
    """Rows of resources."""

    def __init__(self, statements: Statements) -> None:
        super().__init__(statements)
        self._read = Batcher(self._read_each, 100)

    async def read(self, path: str) -> Row | None:
        """A resource, or None where there is none."""
        return await self._read(path)

    async def _read_each(self, paths: Sequence[str]) -> list[Row | None]:
        rows = await self.read_many(paths)
        return [rows.get(path) for path in paths]

    async def read_many(self, paths: Sequence[str]) -> dict[str, Row]:
        """Resources by path; those that do not exist are left out."""
        return {r["path"]: row_of(r) for r in await self._sql.fetch("read_resources", list(paths))}

    async def list_paths(
        self, kind: str | None, below: str, after: str, limit: int, least: int | None = None
    ) -> list[str]:
        """Paths of resources below a path, in order, from after one on; with `least`, of those whose names are
        numbers that are not less."""
        return [r["path"] for r in await self._sql.fetch("list_resources", kind, below, after, limit, least)]

    async def read_summaries(self, paths: Sequence[str]) -> dict[str, ResourceSummary]:
        """Resources by path in brief; those that do not exist are left out."""
        return {r["path"]: summary_of(r) for r in await self._sql.fetch("read_summaries", list(paths))}

    async def read_states(self, paths: Sequence[str]) -> dict[str, tuple[str, str]]:
        """By path, what is there, and its state."""
        return {r["path"]: (r["kind"], r["state"]) for r in await self._sql.fetch("read_states", list(paths))}

    async def count_below(self, paths: Sequence[str]) -> dict[str, int]:
        """Of some paths, those that something lies below, and how much, up to a hundred."""
        return {r["path"]: r["things"] for r in await self._sql.fetch("count_below", list(paths))}

    async def count_fitting(self, paths: Sequence[str]) -> int:
        """How many of some resources fit on one page, in order of path."""
        (record,) = await self._sql.fetch("count_fitting", list(paths), MAX_PAGE_BYTES)
        return int(record["count"])

    async def find_by_token(self, tokens: Sequence[str]) -> dict[str, Row]:
        """Resources by the token under which a provider knows them."""
        paths = [r["path"] for r in await self._sql.fetch("find_by_token", list(tokens))]
        return {str(row.token): row for row in (await self.read_many(paths)).values()}
