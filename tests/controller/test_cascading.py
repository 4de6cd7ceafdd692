"""What is done to accounts and cloudspaces is done to what is in them, and taken back with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from uuid import UUID

import pytest

from stead.controller.admission.request import Accepted
from stead.controller.execution.steps import Failed, Waits
from stead.controller.steps.cascade import PLANS, Cascade
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Actor, Trigger
from tests.action_requests import requested
from tests.controller.test_queues import Controller, controller

LANE = "libvirt.dc"
ACCOUNT, SPACE, OTHER = "/acme", "/acme/space", "/acme/other"
RUNS, HALTED, GONE = "/acme/space/runs", "/acme/space/halted", "/acme/space/gone"
TIED, LOOSE = "/acme/space/tied", "/acme/space/loose"
PARTS = {RUNS: "machine", HALTED: "machine", GONE: "machine", TIED: "disk", LOOSE: "disk"}


class House(Controller):
    """With the steps, and somebody who does what is ordered."""

    refuses: str = ""
    """A path where nothing goes well."""

    async def want(self, kind: str, path: str, action: str, actor: Actor = Actor.USER) -> Accepted | Rejection:
        request = Request(action, actor, on_conflict=OnConflict.REJECT)
        answer = await self.admission.admit(*requested(kind, path, request, "ann", {}, LANE))
        assert isinstance(answer, Accepted | Rejection)
        return answer

    async def done(self, kind: str, path: str, action: str) -> Mapping[str, object]:
        """The operation when it has ended."""
        answer = await self.want(kind, path, action)
        assert isinstance(answer, Accepted), answer
        async with asyncio.timeout(60):
            while not (record := await self.operation(answer.operation))["outcome"]:
                await asyncio.sleep(0.02)
        return record

    async def serve(self) -> None:
        """As an agent of the lane would."""
        while True:
            for path in await self.store.resources.list_paths(None, ACCOUNT, "", 100):
                row = await self.store.resources.read(path)
                if row is not None and row.snapshot.work is not None:
                    await self.report(path, Trigger.FAILED if path == self.refuses else Trigger.SUCCEEDED)
            await asyncio.sleep(0.02)

    async def states(self, *paths: str) -> list[str | None]:
        return [await self.state(path) for path in paths or PARTS]


@asynccontextmanager
async def house(dsn: str) -> AsyncIterator[House]:
    """An account with two cloudspaces; in the one, machines that run, are stopped and are deleted, and two disks."""
    async with controller(dsn) as plain:
        one = House(plain.store)
        one.begins(*PLANS)
        serving = asyncio.create_task(one.serve())
        await one.want("account", ACCOUNT, "create")
        for space in (SPACE, OTHER):
            await one.done("cloudspace", space, "deploy")
        for machine in (RUNS, HALTED, GONE):
            await one.done("machine", machine, "deploy")
        await one.done("machine", HALTED, "stop")
        await one.done("machine", GONE, "delete")
        await one.done("disk", TIED, "assign")
        await one.done("disk", LOOSE, "create")
        yield one
        for task in (serving, *one.steps.background.tasks):
            task.cancel()


async def test_a_cloudspace_is_disabled_and_enabled_with_its_machines(migrated: str) -> None:
    async with house(migrated) as one:
        assert (await one.done("cloudspace", SPACE, "disable"))["outcome"] == "succeeded"
        assert await one.states(SPACE, RUNS, HALTED, GONE) == ["DISABLED", "HALTED", "HALTED", "DELETED"]
        refused = await one.want("machine", RUNS, "start")
        assert isinstance(refused, Rejection)
        assert refused.code is Code.PARENT
        assert (await one.done("cloudspace", SPACE, "enable"))["outcome"] == "succeeded"
        assert await one.states(SPACE, RUNS, HALTED, GONE) == ["DEPLOYED", "RUNNING", "HALTED", "DELETED"]


async def test_a_cloudspace_is_deleted_and_restored_with_all_that_went_with_it(migrated: str) -> None:
    async with house(migrated) as one:
        assert (await one.done("cloudspace", SPACE, "delete"))["outcome"] == "succeeded"
        assert await one.states() == ["DELETED", "DELETED", "DELETED", "TOBEDELETED", "DELETED"]
        assert await one.state(SPACE) == "DELETED"
        assert (await one.done("cloudspace", SPACE, "restore"))["outcome"] == "succeeded"
        assert await one.states() == ["HALTED", "HALTED", "DELETED", "ASSIGNED", "CREATED"]
        await one.done("cloudspace", SPACE, "delete")
        assert (await one.done("cloudspace", SPACE, "destroy"))["outcome"] == "succeeded"
        assert set(await one.states(SPACE, *PARTS)) <= {"DESTROYED", None}


@pytest.mark.long
async def test_an_account_does_so_with_its_cloudspaces(migrated: str) -> None:
    async with house(migrated) as one:
        assert (await one.done("cloudspace", OTHER, "disable"))["outcome"] == "succeeded"
        for action, states in {
            "disable": ["DISABLED", "DISABLED", "DISABLED", "HALTED", "HALTED"],
            "enable": ["CONFIRMED", "DEPLOYED", "DISABLED", "RUNNING", "HALTED"],
            "delete": ["DELETED", "DELETED", "DELETED", "DELETED", "DELETED"],
            "restore": ["CONFIRMED", "DEPLOYED", "DEPLOYED", "HALTED", "HALTED"],
            "destroy": ["DESTROYED", "DESTROYED", "DESTROYED", "DESTROYED", "DESTROYED"],
        }.items():
            assert (await one.done("account", ACCOUNT, action))["outcome"] == "succeeded", action
            assert await one.states(ACCOUNT, SPACE, OTHER, RUNS, HALTED) == states, action


async def test_what_is_asked_has_its_own_operation_and_says_why(migrated: str) -> None:
    async with house(migrated) as one:
        whole = await one.done("account", ACCOUNT, "disable")
        (stop,) = [line for line in await one.lines(RUNS) if line["detail"] == "stop" and line["actor"] == "user"]
        record = await one.operation(str(stop["operation"]))
        assert (record["principal"], record["reason"]) == ("ann", f"disable of {SPACE}")
        assert str(whole["id"]) in record["request"]["under"]
        assert len(record["request"]["under"]) == 2


async def test_nobody_else_comes_between(migrated: str) -> None:
    async with house(migrated) as one:
        one.refuses = "nobody"
        answer = await one.want("account", ACCOUNT, "delete")
        assert isinstance(answer, Accepted)
        refused = await one.want("machine", HALTED, "start")
        assert isinstance(refused, Rejection)
        assert refused.code in (Code.HELD, Code.PARENT, Code.IN_PROGRESS)
        async with asyncio.timeout(60):
            while await one.state(ACCOUNT) != "DELETED":
                await asyncio.sleep(0.02)
        assert await one.state(HALTED) == "DELETED"


async def test_what_cannot_follow_keeps_all_as_it_was_and_is_named(migrated: str) -> None:
    async with house(migrated) as one:
        one.refuses = RUNS
        ended = await one.done("cloudspace", SPACE, "disable")
        assert ended["outcome"] == "failed"
        assert str(ended["says"]).startswith(f"{RUNS} did not follow")
        assert await one.states(SPACE, RUNS, HALTED) == ["DEPLOYED", "ERROR", "HALTED"]
        one.refuses = ""
        assert (await one.done("cloudspace", SPACE, "delete"))["outcome"] == "succeeded"


async def test_a_cloudspace_whose_firewall_an_admin_stopped_is_in_the_way(migrated: str) -> None:
    async with house(migrated) as one:
        await one.want("cloudspace", OTHER, "pause", Actor.ADMIN)
        async with asyncio.timeout(60):
            while await one.state(OTHER) != "PAUSED":
                await asyncio.sleep(0.02)
        ended = await one.done("account", ACCOUNT, "delete")
        assert (ended["outcome"], str(ended["says"])) == ("failed", f"{OTHER} is in the way: see to it first")
        assert await one.states(ACCOUNT, SPACE) == ["CONFIRMED", "DEPLOYED"]


async def test_cascade_taken_up_by_another_counts_part_that_fails_meanwhile(migrated: str) -> None:
    """It was asked by a controller that died; the next waits for it, and for what becomes of it."""
    async with controller(migrated) as one:
        rows = [(ACCOUNT, "account", "CONFIRMED"), (SPACE, "cloudspace", "DEPLOYED"), (RUNS, "machine", "RUNNING")]
        text = """INSERT INTO resources (path, kind, state, fence, lane, token)
                  VALUES ($1, $2, $3, 1, 'libvirt.dc', gen_random_uuid())"""
        async with one.store.pool.acquire() as connection:
            await connection.executemany(text, rows)
        operation = await one.begin(SPACE, "disable", "cloudspace", lane=LANE)
        row = await one.store.resources.read(SPACE)
        assert row is not None
        assert isinstance(await Cascade(one.admission)(row, UUID(operation)), Waits)
        assert await one.state(RUNS) == "STOPPING"
        successor = Cascade(one.admission)
        assert isinstance(await successor(row, UUID(operation)), Waits)
        await one.report(RUNS, Trigger.FAILED)
        assert await one.state(RUNS) == "ERROR"
        answer = await successor(row, UUID(operation))
        assert isinstance(answer, Failed), answer
        assert RUNS in answer.says
