"""What a provider rejects without any effect leaves a VM where it came from, and the operation says why."""

from __future__ import annotations

from uuid import UUID

import pytest

from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until


@pytest.mark.req("S0-02")
async def test_an_action_that_was_rejected_fails_and_the_vm_is_as_before(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        await world.reject()
        for action in ("suspend", "reboot", "terminate"):
            accepted = await ask(one, world, action)

            async def ended(id: str = accepted.operation) -> bool:
                operation = await one.store.operations.read(UUID(id))
                return operation is not None and operation["outcome"] == "failed"

            await until(ended)
            await settled(one, "Running")
            assert "UnauthorizedOperation" in (await one.store.journal.read_last_errors([PATH]))[PATH]
        await world.heal()
        await ask(one, world, "suspend")
        await settled(one, "Suspended")
