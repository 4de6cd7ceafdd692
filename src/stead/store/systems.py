"""Statements about systems: what is defined at a place of one, and what runs beside others on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from stead.origin import parts
from stead.store.statements import Statements


class Systems(Statements):
    """What systems ask of the store."""

    async def tree(self, place: str) -> list[Mapping[str, Any]]:
        """All services and jobs at a place and below it, in order of path."""
        return [dict(r) for r in await self.fetch("read_tree", place)]

    async def mark(self, place: str) -> str:
        """What tells what is defined there now from what will be."""
        return str(await self._pool.fetchval("SELECT mark_below($1)", place))

    async def running_beside(self, path: str) -> list[Mapping[str, Any]]:
        """What runs beside others on a system, with how far each has come and the place it has."""
        return [dict(r) for r in await self.fetch("list_beside", path)]

    async def end_beside(self, path: str) -> int:
        """End those that have nobody left to wait for; how many there were."""
        return int(await self._pool.fetchval("SELECT end_beside($1)", path))

    async def cancel_beside(self, operation: UUID, principal: str, actor: str) -> bool:
        """Give one up; False where somebody has done so before."""
        return bool(await self._pool.fetchval(self._text("cancel_beside"), operation, principal, actor, *parts()))

    async def served(self, lanes: list[str]) -> set[str]:
        """Of some lanes, those that an agent has served."""
        return {r["lane"] for r in await self.fetch("served_lanes", lanes)}

    async def lanes_there(self, lanes: list[str], away: float) -> set[str]:
        """Of some lanes, those that an agent serves who was heard of in so many seconds."""
        return {r["lane"] for r in await self.fetch("lanes_there", lanes, away)}
