"""`stead backup compare` ends with exit code 0 only where everything was observed, and is as recorded."""

from __future__ import annotations

import asyncio

import pytest

from stead.cli.output import Code
from stead.dev.engines import Nats
from tests.cli.remote import command
from tests.controller.test_truth import put
from tests.drivers.cloud import SimWorld
from tests.integration.served import served
from tests.integration.whole import PATH, agent, ask, settled


async def test_resource_that_no_agent_observes_is_not_as_recorded(
    migrated: str, nats_server: Nats, world: SimWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with served(migrated, nats_server) as s, agent(nats_server, s.cell, world, "a1"):
        await ask(s.controller, world, "create")
        await settled(s.controller, "Running")
        stead = command(s, monkeypatch)
        answer = await asyncio.to_thread(stead, "backup", "compare")
        assert (answer.code, answer.rows[1]) == (Code.DONE, ["vm", "1", "1", "0", "0", "0", "0", "0"])
        await put(migrated, f"{PATH}0", "none.here")
        answer = await asyncio.to_thread(stead, "backup", "compare")
        assert (answer.code, answer.rows[1]) == (Code.FAILED, ["vm", "2", "1", "0", "0", "0", "0", "1"])
        assert "nothing was observed on none.here" in answer.err
