"""Orders: what agents are told to do, and the custody that they have of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.lifecycle.snapshot import Fence
from stead.store.statements import StorePart


class Orders(StorePart):
    """Orders, and the custody that agents have of them."""

    async def list_untaken(self, after: int, limit: int) -> list[Mapping[str, Any]]:
        """Orders without custody, by number, as messages to agents."""
        orders: list[Mapping[str, Any]] = await self._sql.value("list_untaken_orders", after, limit)
        return orders

    async def read(self, numbers: Sequence[int]) -> list[Mapping[str, Any]]:
        """Orders by number, as agents are told of them."""
        orders: list[Mapping[str, Any]] = await self._sql.value("read_orders", list(numbers))
        return orders

    async def halve(self, id: int) -> list[Mapping[str, Any]]:
        """Divide an order that no agent has; both halves, or nothing if it has changed meanwhile."""
        orders: list[Mapping[str, Any]] = await self._sql.value("halve_order", id)
        return orders

    async def renew_custody(self, agent: str, epoch: int, members: Mapping[str, Fence], due: float) -> set[str]:
        """Put the end of custody off; answers with the members whose custody the agent still has."""
        fences = members.values()
        numbers = [f.incarnation for f in fences], [f.counter for f in fences]
        rows = await self._sql.fetch("renew_custody", list(members), *numbers, agent, due, epoch)
        return {r["path"] for r in rows}
