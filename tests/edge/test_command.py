"""A site's agent as the process that somebody at the site starts."""

from __future__ import annotations

import asyncio
import os
import sys

import pytest

from stead.cli.output import Code
from tests.edge.site import Edge


async def stead(*words: str) -> tuple[int, str]:
    """How a command ended, and what it said."""
    pipe = asyncio.subprocess.PIPE
    env = {**os.environ, "STEAD_LOG": "WARNING"}
    child = await asyncio.create_subprocess_exec(sys.executable, "-m", "stead", *words, stderr=pipe, env=env)
    try:
        _, said = await asyncio.wait_for(child.communicate(), 60)
    finally:
        if child.returncode is None:
            child.kill()
    return child.returncode or 0, said.decode()


@pytest.mark.long
@pytest.mark.req("S1-10")
async def test_an_agent_that_cannot_say_what_its_site_has_ends_with_one_line(edge: Edge) -> None:
    operation = await edge.ask("create", edge.site)
    bus = ("--nats", edge.nats.url, "--cell", edge.cell, "--lane", edge.lane, "--name", "crm")
    code, said = await stead("agent", "run", *bus, "--set", "url=http://127.0.0.1:9", "--set", "timeout=1.5")
    assert code == Code.FAILED
    (line,) = said.splitlines()
    assert line.startswith(f"error: nobody can say what the site has: {edge.lane}: ")
    assert await edge.end(operation) == "failed"
    assert await edge.state(edge.site) == "Offline"


async def test_a_leaf_without_an_identity_is_named_otherwise() -> None:
    code, said = await stead("agent", "run", "--lane", "edge.lab.bonn", "--leaf", "nats://127.0.0.1:9")
    assert (code, "it is named by --nats" in said) == (Code.USAGE, True)
