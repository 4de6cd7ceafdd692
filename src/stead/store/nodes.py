"""Statements about nodes, and the machines on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.statements import Statements


class Nodes(Statements):
    """Where machines are."""

    async def nodes(self, lane: str, namespace: str) -> list[Mapping[str, Any]]:
        """Nodes on a lane: path, state, whether another namespace has booked each now, and how many machines are on
        it; the emptiest first."""
        return [dict(r) for r in await self.fetch("list_nodes", lane, namespace)]

    async def booked_nodes(self, wanted: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
        """Of nodes, each with a namespace, those that a lease of another namespace has now."""
        rows = await self.fetch("booked_nodes", [node for node, _ in wanted], [space for _, space in wanted])
        return {(r["node"], r["namespace"]) for r in rows}

    async def machines_on(self, node: str, limit: int) -> tuple[list[Mapping[str, Any]], int]:
        """Some machines that are on a node or on their way to it, and how many there are."""
        rows = await self.fetch("list_machines", node, limit)
        return [dict(r) for r in rows], rows[0]["many"] if rows else 0

    async def held(self, nodes: Sequence[str]) -> dict[str, int]:
        """Of some nodes, those that machines are on, and how many; at most a hundred."""
        return {r["path"]: r["things"] for r in await self.fetch("count_held", list(nodes))}
