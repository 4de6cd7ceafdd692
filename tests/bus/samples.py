"""Messages to send, and ways to wait for what comes of them."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable
from typing import Any

from stead.bus import Bus, BusState, Consumer, Delivery
from stead.bus.messages import (
    Message,
    Order,
    OrderMember,
    Presence,
    RenewCustody,
    Report,
    ReportResult,
    TakeCustody,
    TakeCustodyReply,
)
from stead.lifecycle.snapshot import Fence

LANE = "aws.us-east-1"
_ids = itertools.count(1)


def order(lane: str = LANE, counter: int = 1, **changes: Any) -> Order:
    """A new order with one member; `counter` is its fence's."""
    member = OrderMember("/shop/front/web-1", Fence(0, counter), "t-1", {"size": "m5.large"}, {"id": "i-1"})
    values: dict[str, Any] = {
        "id": next(_ids),
        "lane": lane,
        "kind": "vm",
        "verb": "create",
        "token": "t-1",
        "operation": "op-1",
        "attempt": 1,
        "members": [member],
        "timeout": 90.5,
        "request_id": "r-1",
    }
    return Order(**values | changes)


def report(number: int = 1, lane: str = LANE) -> Report:
    return Report("agent-1", 3, number, lane, [ReportResult("/shop/front/web-1", Fence(0, 2), "succeeded")])


def take(number: int = 1) -> TakeCustody:
    return TakeCustody("agent-1", number, [("/shop/front/web-1", Fence(0, 1))])


def renew(number: int = 1) -> RenewCustody:
    return RenewCustody(number, "agent-1", 3, {"/shop/front/web-1": Fence(0, 2)})


def presence() -> Presence:
    return Presence("agent-1", 3, [LANE], "0.1.0")


async def granted(asked: TakeCustody) -> TakeCustodyReply:
    """A handler that gives every order to whoever asks."""
    return TakeCustodyReply(True, "", 10.0, {path: fence.raised() for path, fence in asked.members})


async def drain[M: Message](consumer: Consumer[M], count: int, limit: int = 100) -> list[Delivery[M]]:
    """Fetch until so many have come, and not one more."""
    found: list[Delivery[M]] = []
    async with asyncio.timeout(60):
        while len(found) < count:
            found += await consumer.fetch(limit)
    assert len(found) == count
    return found


async def eventually(true: Callable[[], Awaitable[bool]]) -> None:
    """For what the server does in its own time and does not tell."""
    end = time.monotonic() + 60
    while not await true():
        assert time.monotonic() < end, "it did not come to be in ten seconds"
        await asyncio.sleep(0.02)


class States:
    """What a bus says of its connection, to be waited for."""

    def __init__(self, bus: Bus) -> None:
        self._queue: asyncio.Queue[BusState] = asyncio.Queue()
        bus.on_state(self._queue.put_nowait)

    async def become(self, state: BusState) -> None:
        async with asyncio.timeout(60):
            assert await self._queue.get() is state
