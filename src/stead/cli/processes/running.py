"""What every process does: run on an event loop, and expose its metrics."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

import uvloop

from stead.telemetry import exposition

WITH_PARENT = "STEAD_WITH_PARENT"
"""In the environment of a process that ends with the one that has started it."""


def run(program: Coroutine[Any, Any, None]) -> None:
    """On the faster event loop, where there is one. What lives here lives long, so garbage is rarely looked for."""
    gc.set_threshold(50_000, 50, 100)
    if sys.platform == "win32":
        asyncio.run(program)
    else:
        uvloop.run(program)


@dataclass(frozen=True)
class Metrics:
    """Where a process without an HTTP interface exposes its metrics."""

    host: str
    port: int


def expose(metrics: Metrics | None, *, wait: bool = False) -> None:
    """Expose metrics on a port of their own. Raises `PortTaken` where another process listens on it.

    A process that replaces an agent may `wait` for the agent to release the port.
    """
    if metrics is not None and wait:
        threading.Thread(target=exposition.serve_when_free, args=(metrics.host, metrics.port), daemon=True).start()
    elif metrics is not None:
        try:
            exposition.serve(metrics.host, metrics.port)
        except OSError as error:
            message = f"metrics cannot be exposed at {metrics.host}:{metrics.port}: {error.strerror or error}"
            raise PortTaken(message) from None


class PortTaken(Exception):
    """Another process listens on the port."""
