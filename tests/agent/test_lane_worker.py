"""An agent asks for custody of many orders at once, and carries out those that it was given, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from stead.agent.agent import Agent
from stead.bus import Bus
from stead.bus.messages import Order, OrderMember, TakeCustody, TakeCustodyReply
from stead.drivers.base import Driver
from stead.lifecycle.snapshot import Fence

PATH = "/ns/m/g/1"


@dataclass
class Controller:
    """Gives custody of whatever is asked under the fence that is in force."""

    fence: Fence

    async def take_custody(self, take: TakeCustody) -> TakeCustodyReply:
        given = {path: fence.raised() for path, fence in take.members if fence == self.fence}
        return TakeCustodyReply(ok=True, custody=30, fences=given)


@dataclass
class Delivered:
    """An order that has come."""

    message: Order
    acks: list[int] = field(default_factory=list)

    async def ack(self) -> None:
        self.acks.append(self.message.id)


def order(id: int, fence: Fence) -> Order:
    members = [OrderMember(PATH, fence)]
    return Order(id, "aws.a", "vm", "reboot", f"t.{id}", "op", 1, members)


async def test_of_two_orders_for_one_member_the_one_in_force_is_carried_out() -> None:
    old, new = Fence(1, 4), Fence(1, 5)
    agent = Agent(cast(Bus, Controller(new)), "me", {"aws.a": cast(Driver, None)})
    lane = agent.lanes["aws.a"]
    carried: list[int] = []

    async def carry(order: Order, fences: Mapping[str, Fence], *_: Any) -> None:
        assert fences == {PATH: new.raised()}
        carried.append(order.id)

    lane._carry = carry  # type: ignore[method-assign,assignment]
    came = [Delivered(order(1, old)), Delivered(order(2, new))]
    await lane._take(cast(Any, came))
    await asyncio.gather(*lane.jobs)
    assert carried == [2]
    assert [one.acks for one in came] == [[1], [2]]


async def test_order_of_an_earlier_incarnation_is_rejected_though_it_would_get_custody(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As by a server that was left running on the database from before a restore."""
    before, now = Fence(1, 9), Fence(2, 4)
    agent = Agent(cast(Bus, Controller(before)), "me", {"aws.a": cast(Driver, None)})
    lane = agent.lanes["aws.a"]
    carried: list[int] = []

    async def carry(order: Order, *_: Any) -> None:
        carried.append(order.id)

    lane._carry = carry  # type: ignore[method-assign,assignment]
    first, late = Delivered(order(1, now)), Delivered(order(2, before))
    await lane._take(cast(Any, [first]))
    await lane._take(cast(Any, [late]))
    await asyncio.gather(*lane.jobs)
    assert carried == []
    assert late.acks == [2]
    assert "order.rejected order=2 lane=aws.a verb=reboot incarnation=1 latest=2" in caplog.text
