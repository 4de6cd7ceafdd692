"""Nodes, and the machines on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.statements import StorePart


class Nodes(StorePart):
    """Nodes and the machines on them."""

    async def list_on_lane(self, lane: str, namespace: str) -> list[Mapping[str, Any]]:
        """Nodes on a lane: path, state, whether another namespace has booked each now, and how many machines are on
        it; the emptiest first."""
        return [dict(r) for r in await self._sql.fetch("list_nodes", lane, namespace)]

    async def filter_booked(self, wanted: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of nodes, each with a namespace, those that a lease of another namespace has now."""
        rows = await self._sql.fetch(
            "filter_booked_nodes", [node for node, _ in wanted], [space for _, space in wanted]
        )
        return {(r["node"], r["namespace"]) for r in rows}

    async def read_machines(self, node: str, limit: int) -> tuple[list[Mapping[str, Any]], int]:
        """Some machines that are on a node or on their way to it, and how many there are."""
        rows = await self._sql.fetch("list_machines", node, limit)
        return [dict(r) for r in rows], rows[0]["many"] if rows else 0

    async def count_machines(self, nodes: Sequence[str]) -> dict[str, int]:
        """Of some nodes, those that machines are on, and how many; at most a hundred."""
        return {r["path"]: r["things"] for r in await self._sql.fetch("count_machines", list(nodes))}
