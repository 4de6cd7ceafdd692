"""A cell of its own for every test, on the shared server; and a server of its own for those that break it."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Iterator

import pytest

from stead.bus import Bus
from stead.dev.engines import Nats


@pytest.fixture
def cell() -> str:
    return f"cell-{secrets.token_hex(4)}"


@pytest.fixture
async def bus(nats_server: Nats, cell: str) -> AsyncIterator[Bus]:
    """Connected, with streams."""
    async with Bus(nats_server.url, cell, agent="agent-1") as bus:
        await bus.connect(60)
        await bus.identity()
        yield bus


@pytest.fixture
async def other(nats_server: Nats, cell: str) -> AsyncIterator[Bus]:
    """A second process on the same cell."""
    async with Bus(nats_server.url, cell, agent="agent-1") as bus:
        await bus.connect(60)
        yield bus


@pytest.fixture
def own_nats() -> Iterator[Nats]:
    """To be killed, wiped and restarted."""
    with Nats() as server:
        yield server


@pytest.fixture
async def own_bus(own_nats: Nats, cell: str) -> AsyncIterator[Bus]:
    async with Bus(own_nats.url, cell, agent="agent-1", ping_interval=0.2) as bus:
        await bus.connect(60)
        await bus.identity()
        yield bus
