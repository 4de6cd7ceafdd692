"""An agent's way to make members, as a process of its own. On its first line it is told of what and where, on the
second to begin; then it says, for each of them, what it came to."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

import msgspec
from msgspec import Struct

from stead.agent.lane_driver import LaneDriver
from stead.agent.order_work import OrderWork
from stead.bus.messages import Order, OrderMember
from stead.drivers.base import Member
from stead.drivers.openstack.driver import OpenStackDriver
from stead.drivers.openstack.settings import Config
from stead.drivers.settings import read
from stead.lifecycle.snapshot import Fence

READY = "ready"


class ActionRequest(Struct, frozen=True):
    """What it is told."""

    config: dict[str, Any]
    members: list[Member]
    seconds: float
    """For so long it begins again where nobody can say what became of it, as when custody has run out."""


class Came(Struct, frozen=True):
    """What it came to with one of them."""

    outcome: str
    facts: dict[str, Any] = {}
    error: str = ""
    rounds: int = 1


async def make(work: OrderWork, member: Member, seconds: float) -> Came:
    fence = Fence(1, 1)
    ordered = OrderMember(member.path, fence, member.token, dict(member.spec))
    end = time.monotonic() + seconds
    order = Order(1, "lab.blue", "vm", "create", "order", "operation", 1, [ordered], seconds)
    rounds = 0
    while time.monotonic() < end:
        rounds += 1
        said = await work.execute(order, {member.path: fence}, lambda: None)
        if said:
            return Came(str(said[0].kind), dict(said[0].facts), said[0].error, rounds)
    return Came("unknown", rounds=rounds)


async def main() -> None:
    asked = msgspec.json.decode(sys.stdin.readline(), type=ActionRequest)
    driver = OpenStackDriver(read(Config, asked.config))
    work = OrderWork(LaneDriver(driver))
    print(READY, flush=True)
    sys.stdin.readline()
    came = await asyncio.gather(*(make(work, member, asked.seconds) for member in asked.members))
    print(msgspec.json.encode(came).decode(), flush=True)
    await driver.close()


if __name__ == "__main__":
    asyncio.run(main())
