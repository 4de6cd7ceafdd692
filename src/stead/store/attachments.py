"""Attachments: disks that have to follow a machine that was moved."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import StorePart


class Attachments(StorePart):
    """Disks that have to follow their machines."""

    async def enqueue_moved(self, most: int) -> int:
        """Note machines whose disks are to follow them; how much of the journal was read for it."""
        rows = await self._sql.fetch("schedule_attachments", most)
        return rows[0]["read"] if rows else 0

    async def due(self, now: float, limit: int, pause: float) -> list[Mapping[str, Any]]:
        """Machines whose disks are to be looked at, each with its state; others are told after so many seconds."""
        return [dict(r) for r in await self._sql.fetch("due_attachments", now, limit, pause)]

    async def read_disks(self, machine: str) -> list[Mapping[str, Any]]:
        """Disks that are attached to a machine, or lie in the recycle bin with it."""
        return [dict(r) for r in await self._sql.fetch("list_disks", machine)]

    async def read_destroy_option(self, machine: str) -> str:
        """What a request to destroy it said of its disks, `keep` or `delete`; empty where no request destroyed it."""
        rows = await self._sql.fetch("read_destroy_option", machine)
        return rows[0]["disks"] if rows else ""

    async def complete(self, machine: str, turn: int) -> None:
        """All of them have followed it."""
        await self._sql.fetch("complete_attachment", machine, turn)
