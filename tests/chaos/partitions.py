"""Partitions between any two parts of a cell: for some seconds nothing gets through, and neither part is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from tests.chaos.cell import Cell, Process
from tests.chaos.cuts import USERS
from tests.chaos.replicated import NatsTrio
from tests.chaos.world import Strike, Struck, World


def bus_ports(cell: Cell) -> list[int]:
    return [node.port for node in cell.nats.nodes] if isinstance(cell.nats, NatsTrio) else [cell.nats.port]


def _between(who: Callable[[Cell], list[Process]], whom: Callable[[Cell], list[int]], what: str) -> Strike:
    """Cut one of some processes off from servers; the others go on."""

    @asynccontextmanager
    async def strike(world: World) -> AsyncIterator[Struck | None]:
        one = world.some(who(world.cell))
        if one is None or world.cell.cuts is None:
            yield None
            return
        ways = [(one.name, port) for port in whom(world.cell)]
        with world.hurting(one.name), world.cell.cuts.between(ways):
            yield Struck(f"{one.name} cut off from {what}", world.pause())

    return strike


@asynccontextmanager
async def from_users(world: World) -> AsyncIterator[Struck | None]:
    """Users do not reach a controller, which is well."""
    one = world.some(world.cell.controllers)
    if one is None or world.cell.cuts is None:
        yield None
        return
    with world.cell.cuts.between([(USERS, one.port)]):
        yield Struck(f"{one.name} cut off from users", world.short())


PARTITIONS: dict[str, Strike] = {
    "partition-agent-bus": _between(lambda cell: cell.agents, bus_ports, "the bus"),
    "partition-agent-cloud": _between(
        lambda cell: [one for one in cell.agents if one.name in cell.of_cloud],
        lambda cell: [cell.cloud.port],
        "the cloud",
    ),
    "partition-controller-bus": _between(lambda cell: cell.controllers, bus_ports, "the bus"),
    "partition-controller-database": _between(
        lambda cell: cell.controllers, lambda cell: [cell.postgres.port], "the database"
    ),
    "partition-controller-users": from_users,
}
