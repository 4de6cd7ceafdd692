"""What has changed behind everybody's back is found by regular looks, and believed."""

from __future__ import annotations

import asyncpg
import pytest

from stead.controller.reconcilers.drift import DriftReconciler
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled

WITHOUT = ("drift",)


async def due(dsn: str) -> None:
    """Have every settled resource looked at now."""
    connection = await asyncpg.connect(dsn)
    await connection.execute("UPDATE resources SET observe_at = now() WHERE observe_at IS NOT NULL")
    await connection.close()


async def state(one: Controller) -> str:
    row = await one.store.resources.read(PATH)
    assert row is not None
    return row.snapshot.state


@pytest.mark.req("X-07")
async def test_a_vm_that_was_stopped_by_hand(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        await world.drift("stop", tokens=[await token(one)])
        heal = DriftReconciler(one.observer)
        assert await heal() == 0  # nothing is due yet
        await due(migrated)
        assert await heal() == 1
        assert await state(one) == "Suspended"
        assert await heal() == 0
        await due(migrated)
        assert await heal() == 1
        assert await state(one) == "Suspended"
        await one.store.journal.number()
        lines = [(x["trigger"], x["detail"], x["actor"], x["target"]) for x in await one.store.journal.read(0)]
        assert lines[2:] == [("observed", "Suspended", "agent", "Suspended")]


@pytest.mark.req("S0-14")
async def test_gone_counts_after_three_looks(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        await world.drift("delete", tokens=[await token(one)])
        for believed in ("Running", "Running", "Terminated"):
            await due(migrated)
            assert await DriftReconciler(one.observer)() == 1
            assert await state(one) == believed


async def test_a_look_that_finds_all_as_believed_says_how_fresh_that_is(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        before = await one.store.resources.read(PATH)
        await due(migrated)
        assert await DriftReconciler(one.observer)() == 1
        after = await one.store.resources.read(PATH)
        assert before is not None
        assert before.observed_at is not None
        assert after is not None
        assert after.observed_at is not None
        assert after.observed_at > before.observed_at
        assert after.version == before.version


async def test_without_an_agent_nobody_looks_and_nothing_is_believed(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one:
        async with agent(nats_server, cell, world):
            await ask(one, world, "create")
            await settled(one, "Running")
        await due(migrated)
        assert await DriftReconciler(one.observer)() == 0
        assert await state(one) == "Running"


async def test_what_moves_is_not_looked_at(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        await world.fault(kind="slow", seconds=2)
        await ask(one, world, "suspend")
        await due(migrated)
        assert await DriftReconciler(one.observer)() == 0
        assert await state(one) == "Suspending"
        await settled(one, "Suspended")


async def token(one: Controller) -> str:
    row = await one.store.resources.read(PATH)
    assert row is not None
    return str(row.token)
