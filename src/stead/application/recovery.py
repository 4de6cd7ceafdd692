"""The hold of a restored cell: whether it acts, and its release by an operator."""

from __future__ import annotations

from dataclasses import dataclass

from stead.access.authorized import Authorized
from stead.access.policies import RELEASE
from stead.application.commands import Application
from stead.store.recovery import Hold

__all__ = ["Hold", "Recovery"]


@dataclass(frozen=True)
class Recovery:
    """Commands and queries for a cell whose database went back in time."""

    application: Application

    async def hold(self, authorized: Authorized) -> Hold:
        """Whether the cell is held, since when, and which paths were released."""
        authorized.check(RELEASE)
        return await self.application.reader.store.recovery.read_hold()

    async def release(self, path: str, authorized: Authorized) -> Hold:
        """Let the cell act at a path and below it, or with `/` everywhere."""
        authorized.check(RELEASE)
        assert self.application.slots is not None, "this process allocates no slots"
        await self.application.slots.release(path, authorized.principal)
        return await self.application.reader.store.recovery.read_hold()
