"""Agents of many sites, each with a connection of its own: `python -m bench.site_agents NATS CELL FIRST COUNT`.

All is well at their sites, whatever is asked; so what is measured is the cell, and not a driver.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import random
import sys
from collections.abc import Sequence

import uvloop

from stead.agent import Agent
from stead.bus import Bus
from stead.drivers.base import FoundObject, Member, ObservedObject, Result

NAMESPACE = "bench"

EVERY = 100.0
"""So many of one process begin in a second, as far as the machine that they share with the cell is up to it."""


class Well:
    """A driver at whose site everything is as it should be."""

    kinds = frozenset({"clusterinst", "appinst"})
    longest_call = 1.0

    def batch_limit(self, verb: str, kind: str = "clusterinst") -> int:
        """As many as there are."""
        return 1_000_000

    async def perform(self, verb: str, members: Sequence[Member], token: str) -> list[Result]:
        """Done."""
        return [Result(path=member.path, ok=True) for member in members]

    async def describe(self, members: Sequence[Member]) -> list[ObservedObject]:
        """There."""
        return [ObservedObject(path=member.path, state="Ready", revision=member.revision) for member in members]

    async def inventory(self) -> list[FoundObject]:
        """Nothing besides."""
        return []

    async def check_offer(self, field: str, name: str) -> list[str] | None:
        """Nothing."""
        return None

    async def close(self) -> None:
        """Nothing to close."""


def site(number: int) -> str:
    """The name of a site."""
    return f"s{number:05}"


async def one(nats: str, cell: str, number: int, within: float) -> None:
    """One agent, for ever."""
    await asyncio.sleep(random.uniform(0, within))
    name = f"agent-{site(number)}"
    async with Bus(nats, cell, name=name, agent=name, ping_interval=60.0) as bus:
        await bus.connect()
        await Agent(bus, name, {f"edge.{NAMESPACE}.{site(number)}": Well()}).run()


async def main(nats: str, cell: str, first: int, count: int) -> None:
    """All of them."""
    async with asyncio.TaskGroup() as group:
        for number in range(first, first + count):
            group.create_task(one(nats, cell, number, count / EVERY))


if __name__ == "__main__":
    logging.basicConfig(level=logging.ERROR)
    gc.disable()  # an agent has a process to itself, and little to look through
    uvloop.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
