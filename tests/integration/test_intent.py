"""Intent before deed: whatever a provider is asked for stands in the database before the provider hears of it."""

from __future__ import annotations

import asyncpg
import pytest

from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until


@pytest.mark.req("X-08")
async def test_what_a_provider_is_asked_for_is_on_record_before(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    connection = await asyncpg.connect(migrated)
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
        row = await one.store.resources.read(PATH)
        assert row is not None
        (order,) = await connection.fetch("SELECT id, members, verb, agent FROM orders")
        assert tuple(order) == (row.order_id, [row.id], "create", "")
        assert await world.recorded() == []
        await world.fault(kind="hang", verb="create")
        async with agent(nats_server, cell, world):

            async def taken() -> bool:
                return bool(await connection.fetchval("SELECT agent FROM orders") == "a1")

            await until(taken)
            order = await connection.fetchval("SELECT id FROM orders")  # it may have been sent anew meanwhile
            assert await world.made(str(row.token)) == 0
            await world.heal()
            await settled(one, "Running")
        # It was asked for under that order, and what it made is found under the token that was on record.
        assert {c["order"] for c in await world.recorded() if c["verb"] == "create"} == {f"{row.token}.{order}"}
        assert await world.made(str(row.token)) == 1
    await connection.close()
