"""The values of environment variables are in the resource alone: no journal, past or operation shows them."""

from __future__ import annotations

from datetime import UTC, datetime

import asyncpg
import pytest

from stead.access.caller import anonymous
from stead.build import assemble_application
from stead.controller.admission.request import Accepted
from stead.dev.engines import Nats
from stead.lifecycle.events import Request
from stead.store.masking import MASK, masked
from tests.action_requests import requested
from tests.drivers.cloud import SimWorld
from tests.integration.whole import PATH, agent, controller, settled

SECRET = "hunter2-very-secret"
SPEC = {"cpu": 2, "env": {"DB_PASSWORD": SECRET}, "parts": [{"env": {"KEY": SECRET}}], "labels": {"env": "prod"}}


def test_every_environment_in_a_spec_is_masked_and_nothing_else() -> None:
    assert masked(SPEC) == {
        "cpu": 2,
        "env": {"DB_PASSWORD": MASK},
        "parts": [{"env": {"KEY": MASK}}],
        "labels": {"env": "prod"},
    }
    assert SPEC["env"] == {"DB_PASSWORD": SECRET}


@pytest.mark.req("X-03")
async def test_password_in_environment_is_neither_in_the_journal_nor_in_an_operation(
    migrated: str, nats_server: Nats, cell: str, world: SimWorld
) -> None:
    async with controller(migrated, nats_server, cell) as one, agent(nats_server, cell, world):
        lane = f"{world.provider}.{world.region}"
        accepted = await one.admission.admit(*requested("vm", PATH, Request("create"), "ann", SPEC, lane))
        assert isinstance(accepted, Accepted)
        await settled(one, "Running")
        row = await one.store.resources.read(PATH)
        assert row is not None
        assert row.spec == SPEC, "the agent needs it"
        database = await asyncpg.connect(migrated)
        try:
            lines = await database.fetch("SELECT change::text FROM journal WHERE path = $1", PATH)
        finally:
            await database.close()
        assert any("DB_PASSWORD" in line["change"] for line in lines)
        assert not [line for line in lines if SECRET in line["change"]]
        application = assemble_application(one)
        seen = application.queries(application.authorization.view(anonymous()))
        then = await seen.past(PATH, datetime.now(UTC))
        assert then is not None
        assert then.spec == masked(SPEC)
        operations = (await seen.operations("/", None, None, 100)).items
        assert operations
        assert SECRET not in str(operations)
