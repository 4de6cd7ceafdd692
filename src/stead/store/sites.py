"""Edge sites that are lost, or removed from the cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart


class Sites(StorePart):
    """Edge sites that are lost or removed."""

    async def list_lost(self, below: str, limit: int) -> list[Mapping[str, Any]]:
        """Sites whose upgrade has failed and whose agent is not connected: path, state, lane, time and agent."""
        return [dict(r) for r in await self._sql.fetch("list_lost_sites", below, limit)]

    async def orphan_resources(self, site: str) -> dict[str, int]:
        """What is on record below a site becomes orphans; how many of each kind its lane has."""
        rows = await self._sql.fetch("orphan_resources", site, ["NotPresent"])
        return {r["kind"]: r["count"] for r in rows}

    async def remove(self, site: str) -> None:
        """Remove a site; agents that connect for it again are rejected."""
        await self._sql.fetch("delete_site", site)

    async def list_runs_of_removed(self, away: float) -> dict[tuple[str, int], list[str]]:
        """Runs of agents, by name and epoch, that are there for sites that were forgotten: the lanes of these."""
        rows = await self._sql.fetch("list_runs_of_deleted_sites", away)
        return {(r["name"], r["epoch"]): list(r["lanes"]) for r in rows}
