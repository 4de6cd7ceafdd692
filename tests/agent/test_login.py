"""An agent that its provider rejects says so where an operator reads it."""

from __future__ import annotations

import logging

import pytest

from stead.application.reader import Reader
from stead.controller.health.doctor import Grade, rejected
from stead.dev.engines import Nats
from tests.drivers.cloud import SimWorld
from tests.integration.whole import agent, controller, until


async def test_agent_that_cannot_log_in_to_its_provider_logs_an_error_with_the_reason(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "stead.agent")
    await world.reject()
    async with controller(migrated, nats_server, cell), agent(nats_server, cell, world):

        async def logged() -> bool:
            return any("UnauthorizedOperation" in record.getMessage() for record in caplog.records)

        await until(logged)
    (level, says) = next((r.levelno, r.getMessage()) for r in caplog.records if "UnauthorizedOp" in r.getMessage())
    assert level == logging.ERROR
    assert f"lane={world.provider}.{world.region}" in says
    assert "observe.failed" in says


async def test_agent_that_its_provider_rejects_is_unhealthy_until_it_does_not(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    await world.reject()
    lane = f"{world.provider}.{world.region}"
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world) as runs:
        view = Reader(one.store, one.executor.kinds)

        async def says(wanted: str) -> bool:
            runs.lanes[lane].sync.request()
            page = await view.lanes("", 10)
            found = next((each.agents for each in page.items if each.lane == lane), ())
            return (
                bool(found)
                and found[0].connected
                and (wanted in found[0].rejected if wanted else not found[0].rejected)
            )

        await until(lambda: says("UnauthorizedOperation"))
        finding = rejected([dict(each) for each in await one.store.agents.read_all()])
        assert (finding.grade, lane in finding.message) == (Grade.BAD, True)
        assert "UnauthorizedOperation" in finding.message
        await world.heal()
        await until(lambda: says(""))
        assert rejected([dict(each) for each in await one.store.agents.read_all()]).grade is Grade.OK


async def test_agent_whose_provider_is_away_for_a_moment_logs_no_error(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "stead.agent")
    await world.throttle(0.05)
    async with controller(migrated, nats_server, cell), agent(nats_server, cell, world):

        async def logged() -> bool:
            return any("state_sync.failed" in record.getMessage() for record in caplog.records)

        await until(logged)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
