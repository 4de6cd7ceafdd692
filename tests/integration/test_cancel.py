"""Cancel and retry through every layer: commands, server, bus, agent, and a simulated cloud that hangs."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from stead.client import Client
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.test_processes import Stead, stead
from tests.integration.whole import until

VM = "shop/web/front/1"
PACE = "0.3"
"""Of all waits: custody is waited out in six seconds instead of thirty, as in all tests of this folder."""


@dataclass(frozen=True)
class Cell:
    """A server with an agent for one region of a simulated cloud."""

    address: str
    world: SimWorld

    async def stead(self, *words: str, code: int = 0) -> Any:
        """A command, with what it has to end with; its result."""
        answer = await asyncio.to_thread(stead, self.address, *words, "-o", "json")
        assert answer.returncode == code, answer.stderr
        return json.loads(answer.stdout) if answer.stdout else None

    async def state(self) -> str:
        async with Client(self.address) as client:
            return (await client.resource(f"/{VM}")).state

    async def begin(self, action: str) -> str:
        """An operation that an agent is at work on."""
        (operation,) = await self.stead("vm", action, VM, "--detach")
        async with Client(self.address) as client:

            async def taken() -> bool:
                return "custody" in (await client.resource(f"/{VM}")).timers

            await until(taken)
        return str(operation["id"])


@pytest.fixture
async def cell(migrated: str, nats_server: Nats, world: SimWorld) -> AsyncIterator[Cell]:
    bus = ("--nats", nats_server.url, "--cell", f"p{secrets.token_hex(4)}")
    lane, url = f"{world.provider}.{world.region}", world.cloud.url
    agent = ("agent", "run", *bus, "--lane", lane, "--set", f"url={url}", "--set", "timeout=2", "--name", "a1")
    with (
        Stead("server", "--open", "--database", migrated, *bus, "--pace", PACE, port_option=True) as server,
        Stead(*agent),
    ):
        cell = Cell(f"http://127.0.0.1:{server.port}", world)
        await cell.stead("vm", "create", VM, "--provider", world.provider, "--region", world.region, "--expect-agent")
        yield cell


@pytest.mark.long
async def test_what_hangs_is_cancelled_and_tried_again(cell: Cell) -> None:
    await cell.world.fault(kind="hang", verb="suspend")
    id = await cell.begin("suspend")
    (ended,) = await cell.stead("operation", "cancel", id)
    assert (ended["outcome"], ended["cancelled"]) == ("cancelled", True)
    assert await cell.state() == "Running"
    assert await cell.stead("claim", "list") == []
    await cell.world.heal()
    (again,) = await cell.stead("operation", "retry", id)
    assert (again["outcome"], again["request"]["retries"]) == ("succeeded", id)
    assert await cell.state() == "Suspended"


@pytest.mark.long
async def test_what_was_done_all_the_same_is_done(cell: Cell) -> None:
    """The cloud does it at once, and says so only after everybody has given up."""
    await cell.world.fault(kind="late", verb="suspend", seconds=60)
    id = await cell.begin("suspend")
    (ended,) = await cell.stead("operation", "cancel", id)
    assert (ended["outcome"], ended["cancelled"]) == ("succeeded", False)
    assert await cell.state() == "Suspended"
    await cell.stead("operation", "cancel", id, code=3)
    await cell.stead("operation", "retry", id, code=3)
