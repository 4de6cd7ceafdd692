"""Members whose specs are large: what is said of them goes in messages that the bus carries."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import pytest

from stead.access.caller import anonymous
from stead.build import assemble_application
from stead.bus import Bus
from stead.bus.messages import InventoryRequest, ProbeReply, ProbeRequest, StateLine
from stead.controller.observation.observer import UnknownReason
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import agent, ask, controller, settled

PATHS = [f"/ns/m/g/{n}" for n in range(1, 6)]
WITHOUT = ("drift", "orphans")


@asynccontextmanager
async def running(dsn: str, nats: Nats, cell: str, world: SimWorld) -> AsyncIterator[Controller]:
    """Five VMs that run, and that no agent serves any more."""
    async with controller(dsn, nats, cell, without=WITHOUT) as one:
        async with agent(nats, cell, world):
            for path in PATHS:
                await ask(one, world, "create", path)
            for path in PATHS:
                await settled(one, "Running", path)
        yield one


async def enlarge(dsn: str, size: int, *paths: str) -> None:
    connection = await asyncpg.connect(dsn)
    try:
        text = "jsonb_build_object('text', repeat('x', $1))"
        await connection.execute(f"UPDATE resources SET spec = {text} WHERE path = ANY($2)", size, list(paths))
    finally:
        await connection.close()


async def agreeing(one: Controller) -> dict[str, bool | UnknownReason | None]:
    application = assemble_application(one)
    found = (await application.queries(application.authorization.view(anonymous())).truth(None, "/", "", 100)).items
    return {each.path: each.matches if each.reason is None else UnknownReason(each.reason) for each in found}


async def test_drift_and_full_state_of_members_with_large_specs(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with running(migrated, nats_server, cell, world) as one:
        await enlarge(migrated, 300_000, *PATHS)
        row = await one.store.resources.read(PATHS[4])
        assert row is not None
        await world.drift("stop", tokens=[str(row.token)])
        async with agent(nats_server, cell, world):
            await settled(one, "Suspended", PATHS[4])  # as the full state says
            assert await agreeing(one) == dict.fromkeys(PATHS, True)


async def test_member_larger_than_a_message_keeps_no_other_from_being_observed(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, caplog: pytest.LogCaptureFixture
) -> None:
    async with running(migrated, nats_server, cell, world) as one:
        await enlarge(migrated, 1_200_000, PATHS[1])
        row = await one.store.resources.read(PATHS[4])
        assert row is not None
        await world.drift("stop", tokens=[str(row.token)])
        async with agent(nats_server, cell, world):
            await settled(one, "Suspended", PATHS[4])
            assert await agreeing(one) == {**dict.fromkeys(PATHS, True), PATHS[1]: UnknownReason.UNASKED}
        assert f"inventory.member_too_large path={PATHS[1]} bytes=" in caplog.text
        assert [orphan async for orphan in orphans(migrated)] == []


async def orphans(dsn: str) -> AsyncIterator[str]:
    connection = await asyncpg.connect(dsn)
    try:
        for record in await connection.fetch("SELECT token FROM orphans"):
            yield record["token"]
    finally:
        await connection.close()


async def test_inventory_comes_in_pages_that_fit_messages(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with running(migrated, nats_server, cell, world) as one, Bus(nats_server.url, cell, agent="a9") as bus:
        await enlarge(migrated, 300_000, *PATHS)
        await bus.connect(60)
        found, after = [], ""
        while True:
            page = await bus.inventory(InventoryRequest(f"{world.provider}.{world.region}", after, "a9"))
            found.append([member.path for member in page.members])
            after = page.next
            if not after:
                break
        assert found == [[path] for path in PATHS]
        assert one.bus.connected


async def test_what_has_no_room_in_an_answer_is_asked_for_again(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    asked: list[list[str]] = []

    async def first_two(request: ProbeRequest) -> ProbeReply:
        paths = [member.path for member in request.members]
        asked.append(paths)
        lines = [StateLine(member.fence, "Running", member.path) for member in request.members[:2]]
        return ProbeReply(lines, omitted=paths[2:])

    async with running(migrated, nats_server, cell, world) as one, Bus(nats_server.url, cell, agent="a9") as bus:
        await bus.connect(60)
        await bus.probe.serve(f"{world.provider}.{world.region}", first_two)
        await bus.identity()  # answered after the subscription was
        rows = await one.store.resources.read_many(PATHS)
        seen = await one.observer.look(rows.values())
        assert {path: type(line) for path, line in seen.items()} == dict.fromkeys(PATHS, StateLine)
        assert [len(paths) for paths in asked] == [5, 3, 1]
        assert asked[1:] == [asked[0][2:], asked[0][4:]]
