"""The processes of a cell, run until they are told to stop."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

import uvicorn
import uvloop

from stead.agent import entry
from stead.api import create_app
from stead.controller.engine import engine
from stead.lifecycle.pace import Pace


def server(database: str, nats: str, cell: str, host: str, port: int, pace: Pace) -> None:
    """A controller and its HTTP interface."""
    _run(_server(database, nats, cell, host, port, pace))


def agent(nats: str, cell: str, name: str, lanes: Sequence[str], driver: str, settings: Mapping[str, str]) -> None:
    """An agent for some lanes."""
    _run(entry.run(nats, cell, name, {lane: entry.lane_config(driver, lane, settings) for lane in lanes}))


def _run(program: Coroutine[Any, Any, None]) -> None:
    """On the faster event loop, where there is one. What lives here lives long, so garbage is rarely looked for."""
    gc.set_threshold(50_000, 50, 100)
    if sys.platform == "win32":
        asyncio.run(program)
    else:
        uvloop.run(program)


async def _server(database: str, nats: str, cell: str, host: str, port: int, pace: Pace) -> None:
    async with engine(database, nats, cell, pace=pace) as e:
        config = uvicorn.Config(create_app(e.service), host=host, port=port, log_config=None, lifespan="off")
        web = uvicorn.Server(config)
        controller = asyncio.create_task(e.controller.run())
        serving = asyncio.create_task(web.serve())
        done, _ = await asyncio.wait({controller, serving}, return_when=asyncio.FIRST_COMPLETED)
        web.should_exit = True
        controller.cancel()
        await asyncio.gather(serving, controller, return_exceptions=True)
        for task in done:
            if task is controller and not task.cancelled():
                task.result()
