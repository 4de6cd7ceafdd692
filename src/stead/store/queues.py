"""Statements about queues: who waits for what, and whose turn it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stead.origin import parts
from stead.store.commit import Conflict, conflict_of
from stead.store.pages import MAX_PAGE_BYTES
from stead.store.statements import Statements


class Queues(Statements):
    """What queues ask of the store."""

    async def enqueue(self, wait: Mapping[str, Any]) -> int | Conflict:
        """Put a request into a queue, which is made where there is none; its place there, or why not."""
        answer = await self._pool.fetchval(self._text("enqueue"), dict(wait), *parts())
        return answer["position"] if "position" in answer else conflict_of(wait["path"], answer)

    async def leave_queue(
        self, operation: UUID, outcome: str, reasons: Sequence[Mapping[str, str]], principal: str, actor: str
    ) -> bool:
        """End one that waits before it has begun; False where it does not wait any more."""
        values = operation, outcome, list(reasons), principal, actor, *parts()
        left: bool = await self._pool.fetchval(self._text("leave_queue"), *values)
        return left

    async def promote(self, operation: UUID, principal: str, actor: str) -> bool:
        """Put one that waits first; False where it does not wait any more."""
        return bool(await self.fetch("promote", operation, principal, actor, *parts()))

    async def queue_head(self, queue: str) -> Mapping[str, Any] | None:
        """Who is next in a queue."""
        rows = await self.fetch("queue_head", queue)
        return dict(rows[0]) if rows else None

    async def due_queues(self, limit: int) -> list[str]:
        """Queues whose head may begin, and those that stop and may be done."""
        return [r["queue"] for r in await self.fetch("due_queues", limit)]

    async def open_queue(self, queue: str) -> None:
        """Make a queue, unless it is there."""
        await self.fetch("open_queue", queue)

    async def stop_queues(self, queue: str | None) -> list[Mapping[str, Any]]:
        """A queue, or all of them, take nothing more; as they are then."""
        return [dict(r) for r in await self.fetch("stop_queues", queue)]

    async def close_queue(self, queue: str) -> bool:
        """Remove a queue that takes nothing more, if all that was in it is carried out."""
        closed: bool = await self._pool.fetchval("SELECT close_queue($1)", queue)
        return closed

    async def queue(self, path: str) -> Mapping[str, Any] | None:
        """The queue of an object."""
        rows = await self.fetch("read_queue", path)
        return dict(rows[0]) if rows else None

    async def queues(self, below: str, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Queues of a path and of all below it, in order of path."""
        return [dict(r) for r in await self.fetch("list_queues", below, after, limit)]

    async def queue_busy(self, queue: str, path: str) -> bool:
        """Whether something that shares a queue with a path keeps it from leaving."""
        busy: bool = await self._pool.fetchval("SELECT queue_busy($1, $2)", queue, path)
        return busy

    async def queued(self, queue: str, limit: int) -> list[Mapping[str, Any]]:
        """Operations that wait in a queue, the next one first."""
        return [dict(r) for r in await self.fetch("list_queued", queue, limit, MAX_PAGE_BYTES)]

    async def running_below(self, below: str, limit: int) -> list[UUID]:
        """Operations on a path and below it that are under way, in order of path."""
        return [r["id"] for r in await self.fetch("list_running", below, limit)]

    async def waiting_below(self, below: str, limit: int) -> list[UUID]:
        """Operations on a path and below it that wait their turn."""
        return [r["operation"] for r in await self.fetch("list_waiting", below, limit)]
