"""Readiness is asked for without end, by any caller: asking costs little, however many lanes there are."""

from __future__ import annotations

import asyncio

import nats
import pytest
from nats.aio.msg import Msg

from stead.bus import Bus, Unavailable
from stead.controller.health.readiness import BusReadiness
from stead.dev.engines import Nats
from tests.subscribing import flushed

LOOKS = "$JS.API.STREAM.INFO.>"
LISTS = "$JS.API.CONSUMER.LIST.>"


async def test_many_probes_look_at_the_bus_once_and_list_no_consumers_of_single_node(
    nats_server: Nats, cell: str
) -> None:
    asked: list[str] = []

    async def hear(message: Msg) -> None:
        if cell in message.subject:
            asked.append(message.subject)

    watcher = await nats.connect(nats_server.url)
    try:
        async with Bus(nats_server.url, cell) as bus:
            await bus.connect(60)
            await bus.identity()
            for subject in (LOOKS, LISTS):
                await watcher.subscribe(subject, cb=hear)
            await flushed(watcher)
            ready = BusReadiness(bus, interval=60)
            await asyncio.gather(*(ready() for _ in range(100)))
            await ready()
            streams = [*bus.subjects.orders_streams, bus.subjects.reports_stream]
            async with asyncio.timeout(60):
                while len(asked) < len(streams):
                    await asyncio.sleep(0.01)
            await flushed(watcher)
            assert sorted(asked) == sorted(f"$JS.API.STREAM.INFO.{name}" for name in streams)
    finally:
        await watcher.close()


async def test_bus_that_is_away_is_not_ready(nats_server: Nats, cell: str) -> None:
    async with Bus(nats_server.url, cell) as bus:
        with pytest.raises(Unavailable, match="the bus is not connected"):
            await BusReadiness(bus)()
