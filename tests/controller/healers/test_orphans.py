"""What a provider has and nobody owns is found, listed once it was found twice, and forgotten when it is gone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import asyncpg
import pytest

from stead.access.caller import Caller
from stead.access.policies import ORPHANS
from stead.application import Accepted, NotFound
from stead.application.acceptance import ActionAnswer
from stead.application.cell_commands import CellCommands
from stead.application.commands import Application
from stead.build import assemble_application
from stead.controller.observation.orphans import OrphanDetector
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.pace import DEFAULT
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until
from tests.tiers import first_fast

WITHOUT = ("orphans",)
LONG = 100 * DEFAULT.survey
TAGS = {"owner": "stead", "path": "/ns/lost"}


async def survey(dsn: str, one: Controller, lane: str) -> None:
    """Have the lane surveyed now, and wait until that was applied."""
    connection = await asyncpg.connect(dsn)
    try:
        await connection.execute("UPDATE lanes SET inventory_at = now() WHERE name = $1", lane)
        heal = OrphanDetector(one.executor, one.bus, replace(DEFAULT, survey=LONG))
        assert await heal() == 1
        assert await heal() == 0

        async def applied() -> bool:
            """The last that is written of a survey is when the next is wanted, which the controller wants sooner."""
            soon = "SELECT inventory_at < now() + make_interval(secs => $2) FROM lanes WHERE name = $1"
            return bool(await connection.fetchval(soon, lane, LONG / 2))

        await until(applied)
    finally:
        await connection.close()


async def listed(one: Controller) -> list[Mapping[str, Any]]:
    return await one.store.orphans.read_page(None, 10)


@pytest.mark.req("X-08")
async def test_an_instance_that_nobody_owns(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        (id,) = await world.drift("create", tags=TAGS)
        await survey(migrated, one, lane)
        await survey(migrated, one, lane)

        async def found() -> bool:
            return [(o["lane"], o["path"], o["facts"]["id"]) for o in await listed(one)] == [(lane, "/ns/lost", id)]

        await until(found)
        await world.drift("delete", ids=[id])
        await survey(migrated, one, lane)

        async def gone() -> bool:
            return await listed(one) == []

        await until(gone)


@pytest.mark.req("X-08")
async def test_what_came_back_after_it_was_terminated(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await ask(one, world, "create")
        await settled(one, "Running")
        await ask(one, world, "terminate")
        await settled(one, "Terminated")
        row = await one.store.resources.read("/ns/m/g/1")
        assert row is not None
        await world.drift("create", tags=TAGS, tokens=[str(row.token)])
        await survey(migrated, one, lane)
        await survey(migrated, one, lane)

        async def found() -> bool:
            return len(await listed(one)) == 1

        await until(found)


async def test_what_is_being_made_is_nobodys_orphan(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        await world.fault(kind="late", seconds=3, verb="create")
        await ask(one, world, "create")

        async def made() -> bool:
            row = await one.store.resources.read("/ns/m/g/1")
            return row is not None and await world.made(str(row.token)) == 1

        await until(made)
        await survey(migrated, one, lane)
        await survey(migrated, one, lane)
        assert await listed(one) == []
        await settled(one, "Running")


@pytest.mark.req("X-08")
async def test_an_orphan_is_adopted_or_removed(migrated: str, nats_server: Nats, cell: str, world: SimWorld) -> None:
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one, agent(nats_server, cell, world):
        service = assemble_application(one)
        ann = Caller("ann")
        lost = []
        for name in ("/ns/m/g/1", "/ns/m/g/2"):
            await ask(one, world, "create", name)
            await settled(one, "Running", name)
            row = await one.store.resources.read(name)
            assert row is not None
            lost.append(str(row.token))
        connection = await asyncpg.connect(migrated)
        await connection.execute("DELETE FROM resources")  # a database that has forgotten them
        await connection.close()
        await survey(migrated, one, lane)
        await survey(migrated, one, lane)
        await until(lambda: _listed(one, 2))

        taken = await adopt(service, lane, lost[0], "", ann)
        assert isinstance(taken, Accepted), taken
        await settled(one, "Running", "/ns/m/g/1")
        row = await one.store.resources.read("/ns/m/g/1")
        assert row is not None
        assert (str(row.token), row.lane) == (lost[0], lane)

        gone = await remove_orphan(service, lane, lost[1], ann)
        assert isinstance(gone, Accepted), gone
        path = f"/orphans/{world.provider}/{world.region}/{lost[1]}"
        await settled(one, "Terminated", path)
        assert [deed["verb"] for deed in (await world.history(lost[1]))[0]["history"]][-1] == "terminate"
        assert await listed(one) == []
        assert isinstance(
            await adopt(service, lane, lost[1], "/ns/x/y/z", ann),
            NotFound,
        )


async def adopt(service: Application, lane: str, token: str, path: str, caller: Caller) -> ActionAnswer:
    authorized = service.authorization.require(caller, ORPHANS)
    return await CellCommands(service).adopt(lane, token, path, authorized)


async def remove_orphan(service: Application, lane: str, token: str, caller: Caller) -> ActionAnswer:
    return await CellCommands(service).remove_orphan(lane, token, service.authorization.require(caller, ORPHANS))


async def _listed(one: Controller, count: int) -> bool:
    return len(await listed(one)) == count


STRAYS = {
    "without-token": {"token": ""},
    "bogus-token": {"token": "bogus", "path": "no path"},
    "empty": {"token": "", "path": ""},
    "strange": {"token": "ä/b c", "path": "/"},
}


@pytest.mark.req("X-08")
@pytest.mark.parametrize("tags", first_fast(STRAYS.values()), ids=list(STRAYS))
async def test_an_orphan_is_listed_and_removed_whatever_its_tags(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, tags: dict[str, str]
) -> None:
    await _found_and_removed(migrated, nats_server, cell, world, tags)


@pytest.mark.req("X-08")
async def test_an_orphan_with_the_tags_of_an_owned_vm_is_listed_and_removed(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    await _found_and_removed(migrated, nats_server, cell, world, {"path": PATH})


async def _found_and_removed(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, tags: dict[str, str]
) -> None:
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell, without=WITHOUT) as one:
        async with agent(nats_server, cell, world):
            await ask(one, world, "create")
            await settled(one, "Running")
        row = await one.store.resources.read(PATH)
        assert row is not None
        id = await world.stray({"token": str(row.token), **tags})  # with the owner's token, where none is given
        async with agent(nats_server, cell, world):  # one that starts with it there
            await until(lambda: _told(one, lane, 1))
            (orphan,) = await listed(one)
            assert orphan["facts"]["id"] == id
            service = assemble_application(one)
            gone = await remove_orphan(service, lane, orphan["token"], Caller("ann"))
            assert isinstance(gone, Accepted), gone

            async def removed() -> bool:
                return id not in [found.id for found in await driver.inventory()]

            driver = world.driver()
            await until(removed)
            await driver.close()
            await until(lambda: _told(one, lane, 0))
            await settled(one, "Running")


async def _told(one: Controller, lane: str, count: int) -> bool:
    """Whether so many are listed; the agent that has just begun is asked until it has told them."""
    await one.observer.survey(lane)
    return await _listed(one, count)
