"""The hold of a restored cell: whether it acts, and an operator's word that it may."""

from __future__ import annotations

from dataclasses import dataclass

from stead.access.authorization import Authorization
from stead.access.caller import Caller
from stead.access.policies import RELEASE
from stead.controller.dispatch.slots import SlotAllocator
from stead.store import Store
from stead.store.recovery import Hold

__all__ = ["Hold", "Recovery"]


@dataclass(frozen=True)
class Recovery:
    """What operators ask of a cell whose database went back in time."""

    store: Store
    permission: Authorization
    slots: SlotAllocator | None

    async def hold(self, caller: Caller) -> Hold:
        """Whether the cell is held, since when, and which paths were released."""
        self.permission.require(caller, RELEASE)
        return await self.store.recovery.read_hold()

    async def release(self, path: str, caller: Caller) -> Hold:
        """Let the cell act at a path and below it, or with `/` everywhere."""
        self.permission.require(caller, RELEASE)
        assert self.slots is not None, "nothing sends orders here"
        await self.slots.release(path, caller.name)
        return await self.store.recovery.read_hold()
