"""Labels: the fields of resources that policies may read, and no others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from typing import Any

from stead.store.statements import StorePart

PAGE = 1000
"""Resources that are read at a time."""


class Labels(StorePart):
    """Labels of resources."""

    async def read(self, paths: Collection[str]) -> dict[str, Mapping[str, Any]]:
        """Resources by path, with no more than policies may read; those that do not exist are left out."""
        return {r["path"]: dict(r) for r in await self._sql.fetch("read_labels", list(paths))}

    async def read_former(self, paths: Collection[str]) -> dict[str, list[Mapping[str, Any]]]:
        """By path, what policies may read of resources that were there, as the journal has it, in order of time."""
        found: dict[str, list[Mapping[str, Any]]] = {}
        for r in await self._sql.fetch("read_former_labels", list(paths)):
            found.setdefault(r["path"], []).append(dict(r))
        return found

    async def list_affected(
        self, kinds: Collection[str], below: str, *, back: bool = False, least: int | None = None
    ) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Resources of some kinds below a path, in pages.

        With `back` only what may have been brought where it is together with what is above it; with `least` only
        those whose names are numbers that are not less.
        """
        after = ""
        while page := await self._sql.fetch("list_affected", list(kinds), below, after, PAGE, back, least):
            yield [dict(r) for r in page]
            after = page[-1]["path"]

    async def list_affected_classes(
        self,
        kinds: Collection[str],
        below: str,
        labels: Collection[str],
        *,
        lanes: bool,
        back: bool = False,
        least: int | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """One resource for each kind and each set of values of these labels, and each lane where lanes are wanted."""
        rows = await self._sql.fetch("list_affected_classes", list(kinds), below, list(labels), lanes, back, least)
        return [dict(r) for r in rows]

    def list_machines(self, node: str) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Machines on a node, in pages."""
        return self._related("list_affected_machines", node)

    def list_disks(self, machine: str) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        """Disks that follow a machine, in pages."""
        return self._related("list_affected_disks", machine)

    async def _related(self, statement: str, path: str) -> AsyncIterator[Sequence[Mapping[str, Any]]]:
        after = ""
        while page := await self._sql.fetch(statement, path, after, PAGE):
            yield [dict(r) for r in page]
            after = page[-1]["path"]
