"""Slots: how many members a lane or a provider takes at once, and which orders get them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stead.store.statements import StorePart


class Slots(StorePart):
    """Limits of lanes and providers, and orders that get slots within them."""

    async def list_waiting_lanes(self, least: float) -> list[str]:
        """Lanes on which orders have waited for room for so many seconds."""
        return [r["lane"] for r in await self._sql.fetch("list_waiting_lanes", least)]

    async def limit_lane(self, name: str, members: int | None) -> None:
        """So many members at once on a lane; None: as its provider has it."""
        await self._sql.fetch("limit_lane", name, members)

    async def limit_provider(self, name: str, members: int | None, regions: int | None) -> None:
        """So many members at once in a region, and so many regions at once; None: as many as there are."""
        await self._sql.fetch("limit_provider", name, members, regions)

    async def grant(self, lanes: Sequence[str], at: float, *, split: bool) -> list[Mapping[str, Any]]:
        """Give room to orders that wait on these lanes; which may be sent now. `split` divides what does not fit."""
        name = "split_and_grant_orders" if split else "grant_orders"
        orders: list[Mapping[str, Any]] = await self._sql.value((name), list(lanes), at)
        return orders
