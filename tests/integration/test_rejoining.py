"""The progress of a long operation is followed through the death of its server: each step comes once."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass

import pytest

from stead.client import Client
from stead.dev.engines import Nats
from tests.drivers.cloud import SimCloud, SimWorld
from tests.integration.test_processes import Stead

REGION = "us-east-1"
GROUP = {"name": "g", "provider": "aws", "region": REGION, "spec": "small", "image": "debian-12", "size": 6}
SLOW = 4.0
"""Seconds that the provider takes: long enough for a server to die and to come back."""


@dataclass(frozen=True)
class Processes:
    server: Stead
    cloud: SimCloud

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"


@pytest.fixture
def processes(migrated: str, nats_server: Nats) -> Iterator[Processes]:
    bus = ("--nats", nats_server.url, "--cell", f"r{os.urandom(4).hex()}")
    with (
        SimCloud() as cloud,
        Stead("server", "--open", "--database", migrated, *bus, port_option=True) as server,
        Stead("agent", "run", *bus, "--lane", f"aws.{REGION}", "--set", f"url={cloud.url}", "--name", "a1"),
    ):
        yield Processes(server, cloud)


async def collect(client: Client, id: str, begun: asyncio.Event) -> list[int]:
    positions = []
    async with aclosing(client.steps(id)) as steps:
        async for step in steps:
            assert step.operation == id
            positions.append(step.position)
            begun.set()
    return positions


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.req("S1-13")
async def test_progress_is_followed_through_the_death_of_the_server(processes: Processes) -> None:
    world = SimWorld(processes.cloud, REGION)
    async with Client(processes.url) as client, asyncio.timeout(120):
        await world.fault(kind="slow", seconds=SLOW)
        accepted = await client.request_action(
            "/shop/web", "create", kind="mci", spec={"subgroups": [GROUP]}, expect_agent=True
        )
        assert accepted.operation is not None
        id = accepted.operation.id
        begun = asyncio.Event()
        following = asyncio.create_task(collect(client, id, begun))
        words = [sys.executable, "-m", "stead", "operation", "watch", id, "-o", "json", "--server", processes.url]
        command = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert command.stdout is not None
            first = await asyncio.to_thread(command.stdout.readline)
            await begun.wait()
            await asyncio.to_thread(processes.server.kill)
            await asyncio.to_thread(processes.server.start)
            assert not following.done()
            positions = await following
            out, err = await asyncio.to_thread(command.communicate, timeout=60)
        finally:
            command.kill()
            command.wait()
        told = [line.position async for line in client.journal(path="/shop/web") if line.operation == id]
        assert len(told) > 6
        assert positions == told
        assert [json.loads(line)["position"] for line in (first + out).splitlines()] == told
        assert (command.returncode, err) == (0, "create of /shop/web: succeeded\n")
        middle = told[len(told) // 2]
        assert [step.position async for step in client.steps(id, after=middle)] == [p for p in told if p > middle]
    await world.close()
