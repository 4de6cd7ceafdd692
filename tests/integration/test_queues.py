"""Requests that wait their turn, through every layer: asked for all at once, carried out one after the other."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.controller.runtime import Controller
from stead.dev.engines import Nats
from stead.lifecycle.events import OnConflict, Request
from tests.action_requests import requested
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, ask, controller, settled, until


async def wait(one: Controller, action: str) -> UUID:
    """An operation that waits."""
    request = Request(action, on_conflict=OnConflict.QUEUE)
    answer = await one.admission.admit(*requested("vm", PATH, request, "ann"))
    assert isinstance(answer, Accepted)
    assert answer.position is not None
    return UUID(answer.operation)


@pytest.mark.req("S2-03")
async def test_what_waits_is_carried_out_in_order_by_two_controllers(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one, controller(migrated, nats_server, cell) as two:
        await ask(one, world, "create")
        words = ("suspend", "resume", "reboot", "suspend", "terminate")
        ids = [await wait(each, word) for each, word in zip((one, two, one, two, one), words, strict=True)]
        async with agent(nats_server, cell, world):

            async def ended() -> bool:
                records = await asyncio.gather(*(one.store.operations.read(id) for id in ids))
                return all(record is not None and record["outcome"] == "succeeded" for record in records)

            await until(ended, 60)
            await settled(one, "Terminated")

            async def removed() -> bool:  # there is no object any more for which something could wait
                return await one.store.queues.read(PATH) is None

            await until(removed)
        await one.store.journal.number()
        lines = await one.store.journal.read(0, path=PATH, limit=1000)
        begun = [line["operation"] for line in lines if line["trigger"] == "request"]
        assert begun[1:] == ids


@pytest.mark.req("S2-03")
async def test_what_waits_outlives_its_controller(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one:
        await ask(one, world, "create")
        id = await wait(one, "suspend")
    async with controller(migrated, nats_server, cell) as two, agent(nats_server, cell, world):
        await settled(two, "Suspended")
        record = await two.store.operations.read(id)
        assert record is not None
        assert record["outcome"] == "succeeded"
