"""What is done to a cell, and taken back: each kind of fault strikes, lasts some seconds, and is over.

A fault is a context: inside it, things are as bad as it says, and when it is left they are as they were, whether its
time was over or the run is. Some last longer than custody, so that whoever was struck wakes up too late.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import Any

import httpx
from nats.errors import Error

from stead.dev.children import signal_process
from tests.chaos.cell import ACCOUNT, Process, in_thread
from tests.chaos.clocks import CLOCKS
from tests.chaos.echo import LATEST, echoing
from tests.chaos.partitions import PARTITIONS
from tests.chaos.replicated import TTL, NatsTrio, Node, Replicated
from tests.chaos.storage import STORAGE
from tests.chaos.users import USERS
from tests.chaos.world import Strike, Struck, World

# Processes


@asynccontextmanager
async def _killed(world: World, processes: Sequence[Process]) -> AsyncIterator[Struck | None]:
    one = world.some(processes)
    if one is None:
        yield None
        return
    # The supervisor starts it again.
    yield Struck(f"{one.name} killed", world.cell.kill(one))


@asynccontextmanager
async def _stopped(world: World, processes: Sequence[Process], seconds: float) -> AsyncIterator[Struck | None]:
    one = world.some(processes)
    if one is None:
        yield None
        return
    one.pause()
    try:
        yield Struck(f"{one.name} stopped", seconds)
    finally:
        one.go_on()


def controller_killed(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _killed(world, world.cell.controllers)


@asynccontextmanager
async def carrier_killed(world: World) -> AsyncIterator[Struck | None]:
    """The process beside an HTTP interface ends; that one goes on, and starts another."""
    one = world.some(world.cell.controllers)
    pids = one.beside() if one is not None else []
    if one is None or not pids:
        yield None
        return
    signal_process(pids[0], signal.SIGKILL)
    yield Struck(f"what {one.name} has beside it killed", 1.0)


@asynccontextmanager
async def ec2_troubled(world: World) -> AsyncIterator[Struck | None]:
    """The strict EC2 throttles, loses answers, or shows what it has made late."""
    strict = world.cell.ec2
    if strict is None:
        yield None
        return
    says, settings = world.random.choice(TROUBLES)
    async with httpx.AsyncClient(base_url=strict.url, trust_env=False, verify=False, timeout=60) as client:
        await client.post(f"/_hand/{ACCOUNT}", json=settings)
        try:
            yield Struck(f"EC2 {says}", world.short())
        finally:
            await client.post(f"/_hand/{ACCOUNT}", json={"faults": {}, "hidden": False})


TROUBLES: list[tuple[str, dict[str, Any]]] = [
    ("throttles", {"faults": {"*": [{"do": "refuse", "status": 503, "code": "RequestLimitExceeded", "after": 1}]}}),
    ("loses answers to launches", {"faults": {"RunInstances": [{"do": "lose", "times": 3}]}}),
    ("loses answers to terminations", {"faults": {"TerminateInstances": [{"do": "lose", "times": 3}]}}),
    ("breaks connections", {"faults": {"*": [{"do": "drop", "times": 5}]}}),
]


@asynccontextmanager
async def libvirt_killed(world: World) -> AsyncIterator[Struck | None]:
    """The libvirt of a node ends with all its machines, and comes back without them."""
    place = world.cell.datacenter
    well = [node for node in place.nodes if node not in world.hurt] if place is not None else []
    if place is None or not well:
        yield None
        return
    node = world.random.choice(well)
    world.hurt.add(node)
    try:
        await in_thread(place.kill, node)
        yield Struck(f"the libvirt of {node} killed", world.short())
    finally:
        await in_thread(place.heal, node)
        world.hurt.discard(node)


def controller_stopped(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _stopped(world, world.cell.controllers, world.pause())


def controller_oversleeps(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _stopped(world, world.cell.controllers, world.custody + world.short())


def agent_killed(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _killed(world, world.cell.agents)


def agent_stopped(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _stopped(world, world.cell.agents, world.pause())


def agent_oversleeps(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _stopped(world, world.cell.agents, world.custody + world.short())


# The bus and the database


@asynccontextmanager
async def bus_killed(world: World) -> AsyncIterator[Struck | None]:
    """It comes back with what it had on its disk."""
    nats = world.cell.nats
    if isinstance(nats, NatsTrio) or not nats.running or nats.name in world.hurt:
        yield None
        return
    world.hurt.add(nats.name)
    try:
        await in_thread(nats.kill)
        yield Struck("the bus killed", world.short())
    finally:
        await in_thread(nats.start)
        world.hurt.discard(nats.name)


@asynccontextmanager
async def bus_lost(world: World) -> AsyncIterator[Struck | None]:
    """It comes back without anything it had."""
    nats = world.cell.nats
    if isinstance(nats, NatsTrio) or not nats.running or nats.name in world.hurt:
        yield None
        return
    world.hurt.add(nats.name)
    try:
        await in_thread(nats.kill)
        await in_thread(nats.wipe)
        yield Struck("the bus killed and its disk lost", world.short())
    finally:
        await in_thread(nats.start)
        world.hurt.discard(nats.name)


@asynccontextmanager
async def bus_repeats(world: World) -> AsyncIterator[Struck | None]:
    """Everything is said twice, the second time too late."""
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(echoing(world.cell.nats.url, world.cell.name, world.random))
        except (OSError, Error):
            yield None
            return
        yield Struck("the bus says everything twice", LATEST + world.short())


@asynccontextmanager
async def database_restarted(world: World) -> AsyncIterator[Struck | None]:
    """Connections break without a word, and the log is replayed, as after a crash."""
    postgres = world.cell.postgres
    if isinstance(postgres, Replicated) or not postgres.running or postgres.name in world.hurt:
        yield None
        return
    world.hurt.add(postgres.name)
    try:
        await in_thread(postgres.stop, "immediate")
        yield Struck("the database stopped", world.random.uniform(0, 2))
    finally:
        await in_thread(postgres.start)
        world.hurt.discard(postgres.name)


# Their nodes, where there are three of each. One is struck at a time, and the others are well before it is.


@asynccontextmanager
async def _whole(world: World) -> AsyncIterator[Replicated | None]:
    """The database, when all its nodes are well; nobody else strikes it meanwhile, nor before they are so again."""
    database = world.cell.postgres
    if not isinstance(database, Replicated) or database.name in world.hurt:
        yield None
        return
    world.hurt.add(database.name)
    try:
        yield database
    finally:
        await in_thread(database.heal)
        world.hurt.discard(database.name)


@asynccontextmanager
async def _node_struck(
    world: World, which: Callable[[Replicated], Node | None], how: Callable[[Node], None], says: str, least: float = 0
) -> AsyncIterator[Struck | None]:
    async with _whole(world) as database:
        node = await asyncio.to_thread(which, database) if database is not None else None
        if node is None:
            yield None
            return
        await in_thread(how, node)
        yield Struck(f"{says} ({node.member})", least + world.short())


def primary_lost(world: World) -> AbstractAsyncContextManager[Struck | None]:
    """The primary and its keeper end without a word; the others have to notice."""
    return _node_struck(world, Replicated.primary, Node.lose, "the primary lost", TTL)  # or it would lead again


def primary_crashed(world: World) -> AbstractAsyncContextManager[Struck | None]:
    """The primary ends, and its keeper sees it."""
    return _node_struck(world, Replicated.primary, Node.crash, "the primary crashed")


def standby_lost(world: World) -> AbstractAsyncContextManager[Struck | None]:
    """Whoever followed synchronously is gone; commits wait until another does."""
    return _node_struck(world, Replicated.standby, Node.lose, "the synchronous standby lost")


@asynccontextmanager
async def switched_over(world: World) -> AsyncIterator[Struck | None]:
    """The primary gives its place away in good order."""
    async with _whole(world) as database:
        node = await asyncio.to_thread(database.primary) if database is not None else None
        if database is None or node is None or not await asyncio.to_thread(database.switch_over, node):
            yield None
            return
        yield Struck(f"the primary gave its place away ({node.member})", world.short())


@asynccontextmanager
async def primary_cut_off(world: World) -> AsyncIterator[Struck | None]:
    """The primary does not reach those who say who leads: it has to give its place up, and another takes it."""
    async with _whole(world) as database:
        node = await asyncio.to_thread(database.primary) if database is not None else None
        if database is None or node is None or world.cell.cuts is None:
            yield None
            return
        with world.cell.cuts.between([(node.name, database.etcd.port)]):
            yield Struck(f"the primary cut off ({node.member})", TTL + world.short())


@asynccontextmanager
async def bus_node_cut_off(world: World) -> AsyncIterator[Struck | None]:
    """A server of the bus does not reach the others; clients connected to it notice nothing at first."""
    bus = world.cell.nats
    if not isinstance(bus, NatsTrio) or bus.name in world.hurt or world.cell.cuts is None:
        yield None
        return
    with world.hurting(bus.name):
        node = world.random.choice(bus.nodes)
        try:
            with world.cell.cuts.between(bus.ways_to(node)):
                yield Struck(f"{node.name} cut off from the others", world.pause())
        finally:
            await in_thread(bus.heal)


@asynccontextmanager
async def _bus_node(world: World, forgets: bool) -> AsyncIterator[Struck | None]:
    bus = world.cell.nats
    if not isinstance(bus, NatsTrio) or bus.name in world.hurt:
        yield None
        return
    world.hurt.add(bus.name)
    node = world.random.choice(bus.nodes)
    try:
        await in_thread(node.kill)
        if forgets:
            await in_thread(node.wipe)
        says = f"{node.name} killed and its disk lost" if forgets else f"{node.name} killed"
        yield Struck(says, world.short())
    finally:
        await in_thread(node.start)
        await in_thread(bus.heal)
        world.hurt.discard(bus.name)


def bus_node_killed(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _bus_node(world, forgets=False)


def bus_node_lost(world: World) -> AbstractAsyncContextManager[Struck | None]:
    return _bus_node(world, forgets=True)


# The cloud


def _cloud(says: str, most: float, *faults: dict[str, Any], where: str = "provider") -> Strike:
    """Faults that the cloud is told of, at one of its providers or everywhere."""

    @asynccontextmanager
    async def strike(world: World) -> AsyncIterator[Struck | None]:
        provider = world.random.choice(["aws", "azure", "gcp"]) if where == "provider" else ""
        ids = await world.set(*({"provider": provider} | fault for fault in faults))
        try:
            yield Struck(f"{provider or 'the cloud'} {says}", world.random.uniform(most / 3, most))
        finally:
            await world.clear(ids)

    return strike


KINDS: dict[str, Strike] = {
    "controller-killed": controller_killed,
    "carrier-killed": carrier_killed,
    "controller-stopped": controller_stopped,
    "controller-oversleeps": controller_oversleeps,
    "agent-killed": agent_killed,
    "agent-stopped": agent_stopped,
    "agent-oversleeps": agent_oversleeps,
    "bus-killed": bus_killed,
    "bus-lost": bus_lost,
    "bus-repeats": bus_repeats,
    "database-restarted": database_restarted,
    "ec2-troubled": ec2_troubled,
    "libvirt-killed": libvirt_killed,
    "cloud-throttles": _cloud("throttles", 8, {"kind": "throttle", "rate": 2, "burst": 2}),
    "cloud-drops": _cloud("breaks connections", 8, {"kind": "drop", "fraction": 0.3}, where="anywhere"),
    "cloud-loses": _cloud("does things and does not say so", 8, {"kind": "lost", "fraction": 0.3}, where="anywhere"),
    "cloud-late": _cloud("answers late", 8, {"kind": "late", "seconds": 2.5, "fraction": 0.5}),
    "cloud-slow": _cloud("does things late", 8, {"kind": "latency", "seconds": 0.5, "jitter": 2}),
    "cloud-fails": _cloud(
        "fails some members", 6, {"kind": "fail", "members": True, "fraction": 0.2, "code": "NoCapacity"}
    ),
    "member-slow": _cloud("is slow with single members", 10, {"kind": "slow", "seconds": 8, "fraction": 0.05}),
    **PARTITIONS,
    **CLOCKS,
    **STORAGE,
    **USERS,
}
"""Every kind of fault."""

ALONE = ("bus-killed", "bus-lost", "database-restarted", *STORAGE)
"""Those of a database and a bus that have one server each."""

OF_NODES: dict[str, Strike] = {
    "primary-lost": primary_lost,
    "primary-crashed": primary_crashed,
    "primary-switched": switched_over,
    "standby-lost": standby_lost,
    "busnode-killed": bus_node_killed,
    "busnode-lost": bus_node_lost,
    "primary-cut-off": primary_cut_off,
    "busnode-cut-off": bus_node_cut_off,
}
"""Those where each has three."""
