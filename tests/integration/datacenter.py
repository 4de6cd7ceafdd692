"""A private cloud as processes: two controllers, an agent, and the two nodes of a datacenter with a libvirt each."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from itertools import groupby

import nats
from nats.aio.msg import Msg

from stead.bus.codec import ORDER
from stead.bus.subjects import Subjects
from stead.client import Client
from stead.dev.engines import Nats
from tests.drivers.libvirt_server import Libvirt
from tests.drivers.libvirt_world import NODES, LibvirtWorld
from tests.integration.test_processes import Stead
from tests.subscribing import flushed

LANE = "libvirt.dc"
PROBE = "probe"
GRACE, TIMEOUT = 4, 9
"""Seconds that a machine has to shut down, and that a call may last: less than the protocol keeps for it."""


@dataclass
class Orders:
    """What agents are told to do, as it is heard on the bus."""

    heard: list[tuple[str, str, str]] = field(default_factory=list)
    """Operation, path and verb."""

    async def hear(self, message: Msg) -> None:
        order = ORDER.decode(message.data)
        self.heard += [(order.operation, member.path, order.verb) for member in order.members]

    def of(self, path: str, *operations: str) -> list[str]:
        """What was to be done to something for these operations, in turn; what was said again counts once."""
        verbs = [verb for id, told, verb in self.heard if told == path and id in operations and verb != PROBE]
        return [verb for verb, _ in groupby(verbs)]


@dataclass(frozen=True)
class Datacenter:
    """One that runs, and how its two controllers are asked."""

    world: LibvirtWorld
    client: Client
    other: Client
    orders: Orders


@contextmanager
def libvirts() -> Iterator[Mapping[str, Libvirt]]:
    """A daemon for each node."""
    there = {name: Libvirt(name, uuid) for name, uuid in NODES.items()}
    try:
        for daemon in there.values():
            daemon.start()
        yield there
    finally:
        for daemon in there.values():
            daemon.close()


@asynccontextmanager
async def datacenter(dsn: str, server: Nats, world: LibvirtWorld) -> AsyncIterator[Datacenter]:
    """All of it, over what is on the nodes. When it is over, nothing of ours is left there."""
    cell = f"d{secrets.token_hex(4)}"
    bus = ("--nats", server.url, "--cell", cell)
    words = ("server", "--open", "--database", dsn, *bus)
    orders = Orders()
    listener = await nats.connect(server.url)
    try:
        for subject in Subjects(cell).all_orders:
            await listener.subscribe(subject, cb=orders.hear)
        await flushed(listener)
        with (
            Stead(*words, port_option=True) as one,
            Stead(*words, port_option=True) as two,
            Stead("agent", "run", *bus, *agent(world), "--name", "a1"),
        ):
            async with Client(_address(one)) as client, Client(_address(two)) as other:
                async with asyncio.timeout(60):  # deadline: a process starts in seconds
                    while not [
                        lane async for lane in client.lanes() if any(agent.connected for agent in lane.agents)
                    ]:
                        await asyncio.sleep(0.05)
                yield Datacenter(world, client, other, orders)
    finally:
        await listener.close()
        world.clean()


def _address(server: Stead) -> str:
    return f"http://127.0.0.1:{server.port}"


def agent(world: LibvirtWorld, **settings: str | float) -> Sequence[str]:
    """What an agent is told that serves all nodes of a datacenter."""
    config = world.config(**{"grace": GRACE, "timeout": TIMEOUT, **settings})
    config["nodes"] = ",".join(f"{name}={address}" for name, address in config["nodes"].items())
    said = [word for name, value in config.items() for word in ("--set", f"{name}={value}")]
    return ["--lane", LANE, "--driver", "libvirt", *said]
