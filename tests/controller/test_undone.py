"""Why something was undone is told, though the undoing itself went well."""

from __future__ import annotations

from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.controller.execution.transition import TransitionInput
from stead.lifecycle.events import Report, Request
from stead.lifecycle.rows import Trigger
from tests.action_requests import requested
from tests.controller.test_queues import ME, Controller, controller

APP = "/lab/site/cluster/app"


async def ask(one: Controller, action: str, image: str) -> str:
    """As if its site were there."""
    request = Request(action, within=True)
    answer = await one.admission.admit(*requested("appinst", APP, request, "ann", {"image": image}, "edge.lab.site"))
    assert isinstance(answer, Accepted)
    return answer.operation


@pytest.mark.parametrize("outcome", ["rolled_back", "succeeded"])
async def test_what_went_wrong_on_the_way_is_kept_unless_all_went_well(migrated: str, outcome: str) -> None:
    async with controller(migrated) as one:
        await ask(one, "create", "a")
        await one.report(APP)
        update = await ask(one, "update", "b")
        if outcome == "rolled_back":
            row = await one.store.resources.read(APP)
            assert row is not None
            fences = await one.custody.take(ME, {APP: row.snapshot.fence})
            failed = Report(Trigger.FAILED, fences[APP])
            await one.executor.apply(
                [TransitionInput(APP, failed, principal="agent", detail={"error": "there is no image b"})]
            )
            assert (await one.operation(update))["says"] == "there is no image b"
        await one.report(APP)
        ended = await one.operation(update)
        assert (ended["outcome"], ended["says"]) == (
            outcome,
            "there is no image b" if outcome == "rolled_back" else "",
        )


async def test_what_has_ended_asks_nobody_any_more(migrated: str) -> None:
    async with controller(migrated) as one:
        await ask(one, "create", "a")
        await one.report(APP)
        update = await ask(one, "update", "b")
        # An operation that outranks it, or its end, may come while its members are being asked.
        left = "INSERT INTO expansions (operation, path, member, after, request) VALUES ($1, $2, 'appinst', '', '{}')"
        async with one.store.pool.acquire() as connection:
            await connection.execute(left, UUID(update), APP)
            await one.report(APP)
            assert await connection.fetchval("SELECT count(*) FROM expansions") == 0
