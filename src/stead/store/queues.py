"""Queues: requests that wait for their turn on an object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from stead.origin import address_and_request
from stead.store.commit import Conflict, conflict_of
from stead.store.pages import MAX_PAGE_BYTES
from stead.store.statements import StorePart


class Queues(StorePart):
    """Queues of requests."""

    async def enqueue(self, wait: Mapping[str, Any]) -> int | Conflict:
        """Put a request into a queue, which is made where there is none; its place there, or why not."""
        answer = await self._sql.value("enqueue", dict(wait), *address_and_request())
        return answer["position"] if "position" in answer else conflict_of(wait["path"], answer)

    async def leave(
        self, operation: UUID, outcome: str, reasons: Sequence[Mapping[str, str]], principal: str, actor: str
    ) -> bool:
        """End one that waits before it has begun; False where it does not wait any more."""
        values = operation, outcome, list(reasons), principal, actor, *address_and_request()
        left: bool = await self._sql.value("leave_queue", *values)
        return left

    async def promote(self, operation: UUID, principal: str, actor: str) -> bool:
        """Put one that waits first; False where it does not wait any more."""
        return bool(await self._sql.fetch("promote_queued", operation, principal, actor, *address_and_request()))

    async def read_head(self, queue: str) -> Mapping[str, Any] | None:
        """Who is next in a queue."""
        return await self._sql.record("read_queue_head", queue)

    async def read_waiting(self, queue: str, limit: int) -> list[Mapping[str, Any]]:
        """Operations that wait in a queue, the next one first."""
        return [dict(r) for r in await self._sql.fetch("list_queued", queue, limit, MAX_PAGE_BYTES)]

    async def due(self, limit: int) -> list[str]:
        """Queues whose head may begin, and those that stop and may be done."""
        return [r["queue"] for r in await self._sql.fetch("due_queues", limit)]

    async def open(self, queue: str) -> None:
        """Make a queue, unless it is there."""
        await self._sql.fetch("open_queue", queue)

    async def stop(self, queue: str | None) -> list[Mapping[str, Any]]:
        """A queue, or all of them, take nothing more; as they are then."""
        return [dict(r) for r in await self._sql.fetch("stop_queues", queue)]

    async def close(self, queue: str) -> bool:
        """Remove a queue that takes nothing more, if all that was in it is carried out."""
        closed: bool = await self._sql.value("close_queue", queue)
        return closed

    async def read(self, path: str) -> Mapping[str, Any] | None:
        """The queue of an object."""
        return await self._sql.record("read_queue", path)

    async def read_page(self, below: str, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Queues of a path and of all below it, in order of path."""
        return [dict(r) for r in await self._sql.fetch("list_queues", below, after, limit)]

    async def is_busy(self, queue: str, path: str) -> bool:
        """Whether something that shares a queue with a path keeps it from leaving."""
        busy: bool = await self._sql.value("is_queue_busy", queue, path)
        return busy
