"""A controller put together: store, bus, the loops that run, and the service that interfaces speak to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

from stead.bus import Bus, Unavailable
from stead.catalog import KINDS
from stead.controller.runtime import Controller
from stead.controller.view import Service, View
from stead.lifecycle.definition import Lifecycle
from stead.lifecycle.pace import DEFAULT, Pace
from stead.store import Store
from stead.store.migrate import migrate


@dataclass(frozen=True)
class Engine:
    """What runs, and what is asked."""

    controller: Controller
    service: Service


@asynccontextmanager
async def engine(
    dsn: str,
    nats: str,
    cell: str,
    *,
    kinds: Mapping[str, Lifecycle] = KINDS,
    connections: int = 10,
    pace: Pace = DEFAULT,
) -> AsyncIterator[Engine]:
    """Bring the schema up to date, connect, and put a controller together. Nothing runs until somebody runs it.

    Without a bus it begins all the same: requests are accepted, and what they order is sent when the bus is there.
    """
    await migrate(dsn)
    async with Store.open(dsn, connections=connections) as store, Bus(nats, cell, name="controller") as bus:

        async def connected() -> None:
            if not bus.connected:
                raise Unavailable("the bus is not connected")

        controller = Controller(store, bus, kinds, pace=pace)
        view = View(store, controller.mover.kinds)
        service = Service(
            controller.admission, view, checks={"bus": connected}, looks=controller.looks, grants=controller.grants
        )
        with suppress(Unavailable):  # it goes on trying
            await bus.connect(2)
        yield Engine(controller, service)
