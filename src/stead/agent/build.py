"""An agent put together: a bus, a name, and a driver for each lane."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from stead.agent.agent import Agent
from stead.agent.credential_renewal import CredentialRenewal
from stead.agent.handover import Handover
from stead.bus import Bus, BusError
from stead.drivers import registry
from stead.pki.identity import Identity
from stead.secrets import scrub

log = logging.getLogger(__name__)


class InvalidSettings(ValueError):
    """A lane's driver cannot be made of what was said."""


class UnknownCell(ValueError):
    """The bus has no cell of that name."""


CELL_TIMEOUT = 15.0
"""Seconds for which an agent waits for a cell that the bus does not have: both may have been started just now."""


async def run(
    nats: str,
    cell: str,
    name: str,
    lanes: Mapping[str, Mapping[str, Any]],
    identity: Identity | None = None,
    handover: Handover | None = None,
    domain: str | None = None,
    leaf: str | None = None,
) -> None:
    """Serve lanes until cancelled. Each lane has its driver's name and configuration.

    The epoch tells one run of an agent from the next: it is the time at which it began. With an identity, that says
    who the agent is and where its bus is, and is renewed in time. A `leaf` is a server of the site's own which has
    connected to that bus in the agent's name, so the agent need not show it who it is.
    """
    async with AsyncExitStack() as stack:
        drivers = {}
        for lane, config in lanes.items():
            settings = dict(config)
            try:
                driver = registry.make(settings.pop("driver"), settings)
            except ValueError as error:
                raise InvalidSettings(scrub(f"{lane}: {error}")) from None
            stack.push_async_callback(driver.close)
            drivers[lane] = driver
        if identity is None:
            bus = Bus(nats, cell, name=name, agent=name, domain=domain)
        else:
            about = identity.description
            name = about.name
            where, options = (about.bus, identity.options) if leaf is None else (leaf, None)
            bus = Bus(where, about.cell, name=name, agent=name, apart=True, options=options)
        await stack.enter_async_context(bus)
        await bus.connect()
        if identity is None:
            await _find_cell(bus, cell)
        async with asyncio.TaskGroup() as group:
            group.create_task(Agent(bus, name, drivers, handover=handover).run())
            if identity is not None:
                group.create_task(CredentialRenewal(bus, identity).run())


async def _find_cell(bus: Bus, cell: str) -> None:
    """Raise where the bus has other cells, and not this one. Where it cannot be asked, the agent goes on."""
    end = asyncio.get_running_loop().time() + CELL_TIMEOUT
    while True:
        try:
            known = await bus.cells()
        except BusError as error:
            log.debug("cell.not_checked cell=%s error=%s", cell, error)
            return
        if cell in known or not known:
            return
        if asyncio.get_running_loop().time() > end:
            raise UnknownCell(
                f"cell {cell}: the bus has no cell of that name; it has {', '.join(known)}. Use --cell."
            )
        await asyncio.sleep(0.5)


def lane_config(driver: str, lane: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration of a lane's driver: the place follows from the lane's name."""
    provider, _, region = lane.partition(".")
    return {"driver": driver, "provider": provider, "region": region, **settings}
