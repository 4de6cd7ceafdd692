"""The HTTP interface over a cell with hosts."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from fastapi import FastAPI

from stead.access.access import Access
from stead.api import create_app
from stead.build import assemble_application
from tests.integration import whole
from tests.leases.lab import Lab

LEASES = "/blazar/lab/v1/leases"
HOSTS = "/blazar/lab/v1/os-hosts"


def app(lab: Lab, access: Access | None = None) -> FastAPI:
    """The interface; with `access`, whoever asks has to show who they are."""
    return create_app(assemble_application(lab.one, access=access))


@asynccontextmanager
async def web(lab: Lab) -> AsyncIterator[httpx.AsyncClient]:
    """What goes over the wire, without one."""
    transport = httpx.ASGITransport(app(lab))
    async with httpx.AsyncClient(transport=transport, base_url="http://stead", timeout=60) as client:
        yield client


@asynccontextmanager
async def listening(lab: Lab, access: Access | None = None) -> AsyncIterator[str]:
    """Where a server listens."""
    # With its protocol said, or the loop does not recognise it as TCP and lets answers wait for acknowledgements.
    at = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    at.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app(lab, access), log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    async def started() -> bool:
        return server.started

    serving = asyncio.create_task(server.serve([at]))
    try:
        await whole.until(started)
        yield f"http://127.0.0.1:{at.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving
