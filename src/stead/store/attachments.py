"""Statements about machines that have moved, and the disks that are to follow them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stead.store.statements import Statements


class Attachments(Statements):
    """Which disks are where their machine is not."""

    async def wake_attachments(self, most: int) -> int:
        """Note machines whose disks are to follow them; how much of the journal was read for it."""
        rows = await self.fetch("wake_attachments", most)
        return rows[0]["read"] if rows else 0

    async def due_attachments(self, now: float, limit: int, pause: float) -> list[Mapping[str, Any]]:
        """Machines whose disks are to be looked at, each with its state; others are told after so many seconds."""
        return [dict(r) for r in await self.fetch("due_attachments", now, limit, pause)]

    async def disks_of(self, machine: str) -> list[Mapping[str, Any]]:
        """Disks that are attached to a machine, or lie in the recycle bin with it."""
        return [dict(r) for r in await self.fetch("list_disks", machine)]

    async def destroyed_with(self, machine: str) -> str:
        """What a request to destroy it said of its disks, `keep` or `delete`; empty where no request destroyed it."""
        rows = await self.fetch("destroyed_with", machine)
        return rows[0]["disks"] if rows else ""

    async def followed(self, machine: str, turn: int) -> None:
        """All of them have followed it."""
        await self.fetch("forget_attachments", machine, turn)
