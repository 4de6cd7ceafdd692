"""An agent put together: a bus, a name, and a driver for each lane."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from stead.agent.agent import Agent
from stead.bus import Bus
from stead.drivers import registry
from stead.secrets import scrub


class WrongSettings(ValueError):
    """A lane's driver cannot be made of what was said."""


async def run(nats: str, cell: str, name: str, lanes: Mapping[str, Mapping[str, Any]]) -> None:
    """Serve lanes until cancelled. Each lane has its driver's name and configuration.

    The epoch tells one run of an agent from the next: it is the time at which it began.
    """
    async with AsyncExitStack() as stack:
        drivers = {}
        for lane, config in lanes.items():
            settings = dict(config)
            try:
                driver = registry.make(settings.pop("driver"), settings)
            except ValueError as error:
                raise WrongSettings(scrub(f"{lane}: {error}")) from None
            stack.push_async_callback(driver.close)
            drivers[lane] = driver
        bus = await stack.enter_async_context(Bus(nats, cell, name=name))
        await bus.connect()
        await Agent(bus, name, time.time_ns() // 1_000_000, drivers).run()


def lane_config(driver: str, lane: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a lane's driver: the place follows from the lane's name."""
    provider, _, region = lane.partition(".")
    return {"driver": driver, "provider": provider, "region": region, **settings}
