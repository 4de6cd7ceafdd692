"""Quotas: an account and a cloudspace have no more than they may, however many ask at once."""

from __future__ import annotations

import asyncio

import pytest

from stead.controller.admission.request import Accepted
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import OnConflict, Request
from tests.action_requests import requested
from tests.controller.test_queues import Controller, controller

LANE = "libvirt.dc"
ACCOUNT, SPACE = "/acme", "/acme/space"


async def make(one: Controller, name: str, action: str = "deploy", kind: str = "machine", **spec: object) -> object:
    wish = requested(kind, f"{SPACE}/{name}", Request(action, on_conflict=OnConflict.REJECT), "ann", spec, LANE)
    return await one.admission.admit(*wish)


async def used(one: Controller, path: str = ACCOUNT) -> dict[str, int]:
    return {quota.what: quota.used for quota in await one.store.quotas.read(path)}


async def test_what_is_there_counts_until_it_is_destroyed(migrated: str) -> None:
    async with controller(migrated) as one:
        await one.make(f"{SPACE}/m", "deploy", "machine", spec={"cpu": 2, "memory": 1024})
        await one.make(f"{SPACE}/d", "create", "disk", spec={"size": 10})
        expected = {"machines": 1, "cpus": 2, "memory": 1024, "disks": 1, "storage": 10}
        assert await used(one) == await used(one, SPACE) == expected
        await one.begin(f"{SPACE}/m", "delete", "machine")
        for _ in ("stop", "delete"):
            await one.report(f"{SPACE}/m")
        assert await used(one) == expected  # it still takes its place in the recycle bin
        for _ in ("stop", "delete", "destroy"):
            if await one.under_way(f"{SPACE}/m") is None:
                await one.begin(f"{SPACE}/m", "destroy", "machine")
            await one.report(f"{SPACE}/m")
        assert await one.state(f"{SPACE}/m") == "DESTROYED"
        assert await used(one) == {"machines": 0, "cpus": 0, "memory": 0, "disks": 1, "storage": 10}


@pytest.mark.parametrize(
    ("where", "most", "says"),
    [
        (ACCOUNT, {"machines": 1}, "/acme has 1 of 1 machines that it may have"),
        (SPACE, {"cpus": 5}, "/acme/space has 4 of 5 CPUs that it may have, and 4 more are asked for"),
        (
            SPACE,
            {"memory": 600},
            "/acme/space has 512 of 600 MiB of memory that it may have, and 512 more are asked for",
        ),
    ],
)
async def test_too_much_is_refused_and_says_of_what(
    migrated: str, where: str, most: dict[str, int], says: str
) -> None:
    async with controller(migrated) as one:
        await one.store.quotas.set(where, most)
        assert isinstance(await make(one, "a", cpu=4), Accepted)
        refused = await make(one, "b", cpu=4)
        assert isinstance(refused, Rejection)
        assert [(reason.code, reason.message) for reason in refused.reasons] == [(Code.QUOTA, says)]
        assert isinstance(await make(one, "d", "create", "disk"), Accepted)
        await one.store.quotas.set(where, dict.fromkeys(most))
        assert isinstance(await make(one, "b", cpu=4), Accepted)


async def test_many_that_ask_at_once_get_what_there_is_and_no_more(migrated: str) -> None:
    async with controller(migrated) as one, controller(migrated) as other:
        await one.store.quotas.set(ACCOUNT, {"machines": 7})
        asked = [make(who, f"{number}-{name}") for number in range(15) for name, who in (("a", one), ("b", other))]
        answers = await asyncio.gather(*asked)
        refusals = [answer for answer in answers if isinstance(answer, Rejection)]
        assert len(answers) - len(refusals) == (await used(one))["machines"] == 7
        assert {refusal.code for refusal in refusals} == {Code.QUOTA}
