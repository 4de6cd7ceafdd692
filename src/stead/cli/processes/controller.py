"""A controller: it carries on what servers let in."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from contextlib import AsyncExitStack, suppress
from pathlib import Path

from stead.build import open_engine
from stead.cli.processes import running
from stead.cli.processes.place import Place
from stead.cli.processes.running import Metrics
from stead.lifecycle.files.times import seconds
from stead.telemetry import exposition

POLITE = 5
"""By how much what carries on lets those go first who answer."""


def run(place: Place, metrics: Metrics | None = None) -> None:
    """A controller alone. With a parent, it ends when that does, however that ends."""
    if running.WITH_PARENT not in os.environ:
        running.expose(metrics)
    else:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        os.nice(POLITE)
    running.run(_controller(place))


def _end_with_parent() -> None:
    while os.read(0, 1):  # not by sys.stdin, whose lock this thread would have when the process ends
        pass
    os._exit(0)


async def _controller(place: Place) -> None:
    options = {**place.options(), "webhooks": place.webhooks, "kept": float(seconds(place.kept))}
    async with AsyncExitStack() as stack:
        e = await stack.enter_async_context(open_engine(place.database, place.nats, place.cell, **options))
        if exposition.SOCKET in os.environ:
            await stack.enter_async_context(exposition.serve_socket(Path(os.environ[exposition.SOCKET])))
        work = asyncio.create_task(e.controller.run())
        for word in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(word, work.cancel)
        with suppress(asyncio.CancelledError):
            await work
