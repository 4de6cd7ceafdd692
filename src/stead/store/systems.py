"""Systems: what is defined at a place of one, and the operations that run beside others on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from stead.origin import address_and_request
from stead.store.statements import StorePart


class Systems(StorePart):
    """Systems: their definitions and concurrent operations."""

    async def read_definitions(self, place: str) -> list[Mapping[str, Any]]:
        """All services and jobs at a place and below it, in order of path."""
        return [dict(r) for r in await self._sql.fetch("read_tree", place)]

    async def read_revision(self, place: str) -> str:
        """What tells what is defined there now from what will be."""
        return str(await self._sql.value("read_tree_revision", place))

    async def read_concurrent(self, path: str) -> list[Mapping[str, Any]]:
        """What runs beside others on a system, with how far each has come and the place it has."""
        return [dict(r) for r in await self._sql.fetch("read_concurrent", path)]

    async def end_concurrent(self, path: str) -> int:
        """End concurrent operations that wait for no other operation; how many."""
        return int(await self._sql.value("end_concurrent", path))

    async def cancel_concurrent(self, operation: UUID, principal: str, actor: str) -> bool:
        """Cancel a concurrent operation; False where it was cancelled before."""
        return bool(await self._sql.value("cancel_concurrent", operation, principal, actor, *address_and_request()))
