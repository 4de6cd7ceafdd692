"""References: claims of resources on what they share with others, and shared resources that have no user left."""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from stead.lifecycle.snapshot import Holder
from stead.store.resource_row import holder_of
from stead.store.statements import StorePart


class OperationGone(Exception):
    """The operation that wanted to use something is over."""


class References(StorePart):
    """Claims of resources on what they share."""

    async def use(self, who: str, operation: UUID, paths: Sequence[str]) -> Holder | None:
        """Let a resource use others, all of them or none; the holder of a claim in the way, or None."""
        (record,) = await self._sql.fetch("add_references", who, operation, list(paths))
        held = record["held"]
        if held is not None and held["action"] == "gone":
            raise OperationGone
        return holder_of(held, who)

    async def release(self, who: str, nothing: Sequence[str]) -> list[str]:
        """End the references of a resource that is gone; what has no user now.

        `nothing`: the states in which there is nothing at the provider.
        """
        return [r["path"] for r in await self._sql.fetch("release_references", who, list(nothing))]

    async def list_made_for(self, who: str, kinds: Sequence[str]) -> list[str]:
        """What was made for a resource to use, whether it came to that or not."""
        return [r["path"] for r in await self._sql.fetch("list_made_for", who, list(kinds))]

    async def list_idle_users(self, resting: Sequence[str], limit: int) -> list[str]:
        """Users that are gone, or rest in one of these states, and may be done with what they use."""
        return [r["path"] for r in await self._sql.fetch("list_idle_users", list(resting), limit)]

    async def list_unused(self, kinds: Sequence[str], resting: Sequence[str], least: float, limit: int) -> list[str]:
        """Shared resources without a user for so many seconds."""
        rows = await self._sql.fetch("list_unused", list(kinds), list(resting), least, limit)
        return [r["path"] for r in rows]
