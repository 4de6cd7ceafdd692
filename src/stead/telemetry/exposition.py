"""Metrics on their way to whoever asks: on a port of their own, or from a process to the one that has started it.

A server and the controller beside it are two processes and one target. So the server asks its controller over a
socket that only their user can open, and answers for both; the label `part` says whose a metric is.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, Metric, generate_latest, start_http_server
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector, CollectorRegistry

from stead.telemetry.metrics import REGISTRY

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4

SOCKET = "STEAD_METRICS_SOCKET"
"""The variable that tells a controller where its server asks it."""

SCRAPE_TIMEOUT = 2.0
"""Seconds that another process may take to answer."""

RETRY_PAUSE = 1.0
"""Seconds between two looks whether a port is free."""


def exposition() -> str:
    """The metrics of this process."""
    return generate_latest(REGISTRY).decode()


class _Merged(Collector):
    def __init__(self, texts: Mapping[str, str]) -> None:
        self.families: dict[str, Metric] = {}
        for part, text in texts.items():
            for family in text_string_to_metric_families(text):
                known = self.families.setdefault(family.name, Metric(family.name, family.documentation, family.type))
                for sample in family.samples:
                    known.add_sample(sample.name, {"part": part, **sample.labels}, sample.value)

    def collect(self) -> list[Metric]:
        return list(self.families.values())


def merged(texts: Mapping[str, str]) -> str:
    """The metrics of several processes as one text, each with the name of its part."""
    registry = CollectorRegistry()
    registry.register(_Merged(texts))
    return generate_latest(registry).decode()


def values(text: str, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """What a text says of one metric, by its labels."""
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


@asynccontextmanager
async def serve_socket(path: Path) -> AsyncIterator[None]:
    """Serve the metrics of this process on a socket.

    The generator refers to the server: uvloop does not, and a server that is collected closes its socket.
    """

    async def serve_exposition(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            writer.write(exposition().encode())
            await writer.drain()
            writer.close()
            await writer.wait_closed()

    path.unlink(missing_ok=True)
    server = await asyncio.start_unix_server(serve_exposition, str(path))
    try:
        yield
    finally:
        server.close()


async def scrape_socket(path: Path) -> str | None:
    """The metrics of another process; None where it does not answer."""
    try:
        async with asyncio.timeout(SCRAPE_TIMEOUT):
            reader, writer = await asyncio.open_unix_connection(str(path))
            try:
                return (await reader.read()).decode()
            finally:
                writer.close()
    except OSError:  # a timeout is one
        return None


def serve(host: str, port: int) -> None:
    """Answer on a port of their own, beside everything else. Raises `OSError` where it is taken."""
    start_http_server(port, host, REGISTRY)


def serve_when_free(host: str, port: int) -> None:
    """The same, as soon as nobody else does."""
    while True:
        try:
            return serve(host, port)
        except OSError:
            time.sleep(RETRY_PAUSE)
