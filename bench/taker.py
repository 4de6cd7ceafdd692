"""An agent whose provider never answers: it takes orders, and that is all."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Sequence

import uvloop

from stead.agent import Agent
from stead.bus import Bus
from stead.drivers.base import FoundObject, Member, ObservedObject, Result


class Silent:
    """A driver whose calls do not return."""

    kinds = frozenset({"vm"})
    longest_call = 1.0

    def batch_limit(self, verb: str, kind: str = "vm") -> int:
        """As many as there are."""
        return 1_000_000

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """Never."""
        await asyncio.Event().wait()
        return []

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """Never."""
        await asyncio.Event().wait()
        return []

    async def inventory(self) -> list[FoundObject]:
        """Never: nobody is to be told what is there."""
        await asyncio.Event().wait()
        return []

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Nothing."""
        return None

    async def close(self) -> None:
        """Nothing to close."""


async def main(nats: str, cell: str, name: str, lanes: Sequence[str]) -> None:
    """For ever."""
    async with Bus(nats, cell, agent=name) as bus:
        await bus.connect(10)
        await Agent(bus, name, {lane: Silent() for lane in lanes}, max_orders=10_000).run()


if __name__ == "__main__":
    gc.set_threshold(50_000, 50, 100)  # as agents do
    uvloop.run(main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4].split(",")))
