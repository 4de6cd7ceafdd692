"""The cell in numbers: resources by state, operations in progress, unhealthy resources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart

type Within = list[str] | None
"""The paths of some namespaces; None for all there are."""


class Overview(StorePart):
    """Resources of some namespaces, or of the whole cell, in numbers."""

    async def list_namespaces(self) -> list[str]:
        """The paths of namespaces in which there is something, or was."""
        return [r["path"] for r in await self._sql.fetch("list_namespaces")]

    async def count_by_state(self, within: Within) -> list[tuple[str, str, int]]:
        """Kind, state and number of all resources in the cell, a moment ago at most."""
        return [(r["kind"], r["state"], r["members"]) for r in await self._sql.fetch("count_by_state", within)]

    async def list_unhealthy(self, limit: int, within: Within) -> list[Mapping[str, Any]]:
        """Resources in unhealthy states, in order of path."""
        return [dict(r) for r in await self._sql.fetch("list_unhealthy", limit, [""] if within is None else within)]

    async def list_in_progress(self, limit: int, within: Within) -> list[Mapping[str, Any]]:
        """Resources that an operation works on, of the so many whose timers are due first."""
        return [dict(r) for r in await self._sql.fetch("list_in_progress", limit, within)]

    async def read_totals(self, most: int, there: float, within: Within) -> Mapping[str, Any]:
        """What goes on as numbers; nothing is counted beyond `most`."""
        (record,) = await self._sql.fetch("read_overview", most, there, within)
        return dict(record)
