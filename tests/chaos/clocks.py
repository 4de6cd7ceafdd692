"""Clock skew: for some seconds the time of day of one process is wrong, by less or more than anything waits."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.chaos.cell import Cell, Process
from tests.chaos.world import Strike, Struck, World

LEAST, MOST = 1.0, 120.0
"""Seconds by which a clock is wrong."""


def _skewed(who: Callable[[Cell], list[Process]], sign: int) -> Strike:
    @asynccontextmanager
    async def strike(world: World) -> AsyncIterator[Struck | None]:
        clocks, one = world.cell.clocks, world.some(who(world.cell))
        if one is None or clocks is None:
            yield None
            return
        by = sign * world.random.choice([world.random.uniform(LEAST, 10), world.random.uniform(10, MOST)])
        clocks.set(one.name, by)
        try:
            yield Struck(f"the clock of {one.name} wrong by {by:+.0f} s", world.pause())
        finally:
            clocks.set(one.name, 0)

    return strike


CLOCKS: dict[str, Strike] = {
    "clock-agent-ahead": _skewed(lambda cell: cell.agents, 1),
    "clock-agent-behind": _skewed(lambda cell: cell.agents, -1),
    "clock-controller-ahead": _skewed(lambda cell: cell.controllers, 1),
    "clock-controller-behind": _skewed(lambda cell: cell.controllers, -1),
}
