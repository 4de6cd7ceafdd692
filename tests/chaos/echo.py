"""A bus that says things twice: whatever agents report and controllers order is said again some seconds later.

A bus that delivers at least once may do so, and after any time. Whoever hears it must find that it is over.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from random import Random

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error

from stead.bus.subjects import Subjects

LATEST = 6.0
"""Seconds after which something is said again, at most."""


@asynccontextmanager
async def echoing(url: str, cell: str, random: Random) -> AsyncIterator[None]:
    """Everything is said twice meanwhile. Raises where the bus cannot be reached."""
    echo = Echo(await nats.connect(url.split(","), allow_reconnect=False, connect_timeout=2), random)
    subjects = Subjects(cell)
    try:
        for subject in (*subjects.all_orders, *subjects.all_reports):
            await echo.client.subscribe(subject, cb=echo.heard)
        yield
    finally:
        await echo.close()


class Echo:
    """What was heard, and is to be said again."""

    def __init__(self, client: Client, random: Random) -> None:
        self.client = client
        self.random = random
        self.said: set[bytes] = set()
        self.repeating: set[asyncio.Task[None]] = set()

    async def heard(self, message: Msg) -> None:
        if message.data in self.said:  # that was us
            return
        self.said.add(message.data)
        task = asyncio.create_task(self._repeat(message))
        self.repeating.add(task)
        task.add_done_callback(self.repeating.discard)

    async def _repeat(self, message: Msg) -> None:
        await asyncio.sleep(self.random.uniform(0.1, LATEST))
        try:
            await self.client.publish(message.subject, message.data)  # without its id, so that it is stored anew
        except Error:
            return  # the bus is gone, and so are its echoes

    async def close(self) -> None:
        for task in list(self.repeating):
            task.cancel()
        await asyncio.gather(*self.repeating, return_exceptions=True)
        await self.client.close()
