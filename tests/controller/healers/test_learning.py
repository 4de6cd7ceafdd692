"""How long moves take is learned from the journal: what went well, once, by whoever reads it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import asyncpg
import pytest

from stead.catalog import KINDS
from stead.controller.reconcilers.durations import DurationLearner
from stead.dev.engines import Nats
from stead.lifecycle.durations import end_of, span_of
from stead.lifecycle.rows import Actor, Trigger
from stead.store import Store
from stead.store.durations import Duration, DurationKey
from tests.controller.test_queues import MACHINE, VM, Controller, controller
from tests.integration import whole

SUSPEND = DurationKey("vm", "suspend", "Suspending")


@asynccontextmanager
async def database(dsn: str) -> AsyncIterator[asyncpg.Connection[asyncpg.Record]]:
    connection = await asyncpg.connect(dsn)
    try:
        yield connection
    finally:
        await connection.close()


async def back(dsn: str, path: str, target: str, seconds: float) -> None:
    """The last move into a state was made so many seconds before it was."""
    async with database(dsn) as connection:
        await connection.execute(
            "UPDATE journal SET at = at - $3::interval "
            "WHERE id = (SELECT max(id) FROM journal WHERE path = $1 AND target = $2)",
            *(path, target, timedelta(seconds=seconds)),
        )


async def suspend(c: Controller, dsn: str, seconds: float, word: Trigger = Trigger.SUCCEEDED, path: str = VM) -> None:
    """Suspend a VM, which takes so long, and resume it."""
    await c.begin(path, "suspend")
    await back(dsn, path, "Suspending", seconds)
    await c.report(path, word)
    if word is Trigger.SUCCEEDED:
        await c.begin(path, "resume")
        await c.report(path)


async def learn(store: Store) -> None:
    await store.journal.number()
    assert await DurationLearner(store, KINDS)() == 0


@pytest.mark.req("X-12")
async def test_what_went_well_is_learned_for_all_lanes_and_for_its_own(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        for seconds in (3.0, 30.0, 3.1):
            await suspend(c, migrated, seconds)
        await learn(c.store)
        known = await c.store.durations.read(
            [SUSPEND, SUSPEND._replace(lane="sim.a"), SUSPEND._replace(lane="sim.b")]
        )
        three, thirty = end_of(span_of(3.05)), end_of(span_of(30.05))
        assert known == {
            SUSPEND: Duration(3, three, thirty),
            SUSPEND._replace(lane="sim.a"): Duration(3, three, thirty),
        }
        assert await c.store.durations.read([]) == {}


@pytest.mark.req("X-12")
async def test_nothing_is_learned_twice_and_nothing_of_what_failed(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await suspend(c, migrated, 3.0)
        await suspend(c, migrated, 500.0, Trigger.FAILED)
        await asyncio.gather(*(learn(c.store) for _ in range(4)))
        await learn(c.store)
        assert (await c.store.durations.read([SUSPEND]))[SUSPEND].samples == 1


@pytest.mark.req("X-12")
async def test_whoever_dies_on_the_way_has_read_nothing(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await suspend(c, migrated, 3.0)
        await c.store.pool.execute("ALTER TABLE durations ADD CONSTRAINT fails CHECK (false) NOT VALID")
        with pytest.raises(asyncpg.CheckViolationError):
            await learn(c.store)
        await c.store.pool.execute("ALTER TABLE durations DROP CONSTRAINT fails")
        await learn(c.store)
        assert (await c.store.durations.read([SUSPEND]))[SUSPEND].samples == 1


@pytest.mark.req("X-12")
async def test_what_nobody_sees_is_learned_from_its_request_on(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(MACHINE, "deploy", "machine")
        await c.begin("/nodes/other", "create", "node", actor=Actor.ADMIN)
        await c.begin(MACHINE, "migrate", "machine", actor=Actor.ADMIN)
        await back(migrated, MACHINE, "RUNNING", 40.0)
        await c.report(MACHINE)
        await learn(c.store)
        migrate = DurationKey("machine", "migrate", "")
        assert await c.store.durations.read([migrate]) == {migrate: Duration(1, *[end_of(span_of(40.05))] * 2)}


@pytest.mark.req("X-12")
async def test_where_more_was_written_than_is_read_in_one_go_the_latest_is_learned(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        for seconds in (3.0, 3.0, 3.0, 60.0):
            await suspend(c, migrated, seconds)
        await c.store.journal.number()
        healer = DurationLearner(c.store, KINDS)
        assert await c.store.durations.learn(6, healer.well()) == 6
        assert (await c.store.durations.read([SUSPEND]))[SUSPEND].typical == end_of(span_of(60.05))
        assert await c.store.durations.learn(6, healer.well()) == 0


async def test_what_nobody_hears_of_any_more_is_forgotten(migrated: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await suspend(c, migrated, 3.0)
        await learn(c.store)
        assert await c.store.durations.remove_unused(3600) == 0
        assert await c.store.durations.remove_unused(0) > 0
        assert await c.store.durations.read([SUSPEND]) == {}


@pytest.mark.req("X-12")
async def test_a_controller_that_runs_learns(migrated: str, nats_server: Nats, cell: str) -> None:
    async with controller(migrated) as c:
        await c.make(VM)
        await suspend(c, migrated, 3.0)
    async with whole.controller(migrated, nats_server, cell) as one:

        async def knows() -> bool:
            return bool(await one.store.durations.read([SUSPEND]))

        await whole.until(knows)
