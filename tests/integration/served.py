"""The HTTP interface of a whole cell, put together as `stead server` does it, in the test's own loop."""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass

import uvicorn

from stead.api import create_app
from stead.build import open_engine
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.pace import DEFAULT, Pace
from tests.integration.whole import running, until

WITHOUT = ("drift", "orphans")


@dataclass(frozen=True)
class Served:
    """What runs, and where it listens."""

    controller: Controller
    url: str
    cell: str
    """Its name on the bus."""

    async def known(self, *lanes: str) -> None:
        """Wait until agents have said that they serve these lanes."""

        async def holds() -> bool:
            return await self.controller.store.lanes.filter_served(list(lanes)) == set(lanes)

        await until(holds)


@asynccontextmanager
async def served(
    dsn: str, nats: Nats, *, without: Collection[str] = WITHOUT, cell: str = "", pace: Pace = DEFAULT
) -> AsyncIterator[Served]:
    """A server, without some of its healers: nothing is looked at unless a test wants it."""
    # With its protocol said, or the loop does not recognise it as TCP and lets answers wait for acknowledgements.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    cell = cell or f"s{secrets.token_hex(4)}"
    async with open_engine(dsn, nats.url, cell, connections=5, pace=pace) as e:
        e.controller.healers = tuple(healer for healer in e.controller.healers if healer.name not in without)
        config = uvicorn.Config(
            create_app(e.application), log_level="critical", lifespan="off", timeout_graceful_shutdown=1
        )
        web = uvicorn.Server(config)

        async def started() -> bool:
            return web.started

        async with running(e.controller.run()):
            serving = asyncio.create_task(web.serve([listening]))
            try:
                await until(started)
                yield Served(e.controller, f"http://127.0.0.1:{listening.getsockname()[1]}", cell)
            finally:
                web.should_exit = True
                await serving
