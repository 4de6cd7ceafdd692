"""Operations: what was accepted, how far it has come and how it ended."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from stead.store.commit import Conflict
from stead.store.statements import StorePart


class Operations(StorePart):
    """Operations, with their members, keys and outcomes."""

    async def read(self, id: UUID) -> Mapping[str, Any] | None:
        """An operation that waits, is in progress or has ended."""
        return await self._sql.record("read_operation", id)

    async def read_members(self, id: UUID, after: str, limit: int) -> list[Mapping[str, Any]]:
        """Members that did not do what an operation asked of them, or could not be asked, each with why."""
        return [dict(r) for r in await self._sql.fetch("list_operation_members", id, after, limit)]

    async def set_message(self, operation: UUID, says: str) -> None:
        """What an operation waits for, or why it is about to fail."""
        await self._sql.fetch("set_message", operation, says)

    async def list_running(self, below: str, limit: int) -> list[UUID]:
        """Operations on a path and below it that are in progress, in order of path."""
        return [r["id"] for r in await self._sql.fetch("list_running_operations", below, limit)]

    async def list_waiting(self, below: str, limit: int) -> list[UUID]:
        """Operations on a path and below it that wait their turn."""
        return [r["operation"] for r in await self._sql.fetch("list_waiting_operations", below, limit)]

    async def read_outcomes(self, ids: Sequence[str]) -> dict[str, tuple[str, float | None]]:
        """What became of operations, and when they ended."""
        rows = await self._sql.fetch("read_outcomes", [UUID(id) for id in ids]) if ids else []
        return {str(r["id"]): (r["outcome"], r["ended"]) for r in rows}

    async def read_failures(self, paths: Sequence[str]) -> dict[str, str]:
        """By path, why the last that was done to each did not do what was asked; the others are left out."""
        found = await self._sql.fetch("read_failures", list(paths)) if paths else ()
        return {r["path"]: r["failure"] for r in found}

    async def count_errors(self, id: UUID, limit: int) -> list[Mapping[str, Any]]:
        """Why members of an operation did not do what was asked, each reason once, the most frequent first."""
        return [dict(r) for r in await self._sql.fetch("count_errors", id, limit)]

    async def read_timeline(
        self, id: UUID, path: str, since: datetime, until: datetime, skip: int, limit: int
    ) -> list[Mapping[str, Any]]:
        """What an operation on a path did to each of its members between two times, the worst and slowest first."""
        return [dict(r) for r in await self._sql.fetch("list_timeline", id, since, until, path, limit, skip)]

    async def read_origins(self, operations: Sequence[str]) -> dict[str, Mapping[str, str]]:
        """By operation in progress, the request that it comes from, where there was one."""
        return {r["id"]: r["origin"] for r in await self._sql.fetch("read_origins", list(operations))}

    async def find_journal_start(self, id: UUID, path: str, since: datetime) -> tuple[int | None, bool]:
        """The first position of an operation in the journal, and whether some of its lines have none yet."""
        (record,) = await self._sql.fetch("find_journal_start", id, path, since)
        return record["first"], record["unnumbered"]

    async def find_key(self, principal: str, key: str, fingerprint: str) -> Conflict | None:
        """What an idempotency key was used for, if it was."""
        rows = await self._sql.fetch("read_key", principal, key)
        if not rows:
            return None
        return Conflict("key", operation=str(rows[0]["operation"]), same=rows[0]["fingerprint"] == fingerprint)

    async def record_key(self, principal: str, key: str, fingerprint: str, operation: UUID) -> bool:
        """An idempotency key is used for an operation that others began; whether it was still free."""
        return bool(await self._sql.fetch("record_key", principal, key, fingerprint, operation))

    async def delete_keys(self, after: float, most: int) -> int:
        """Forget keys of requests that are older than so many seconds; how many."""
        (record,) = await self._sql.fetch("delete_old_keys", after, most)
        keys: int = record["keys"]
        return keys
