"""Nodes: machines are put on them, moved away from them unseen, and keep them from being taken out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stead.controller.admission.request import Accepted
from stead.lifecycle.decision import Code, Rejection
from stead.lifecycle.events import OnConflict, Request
from stead.lifecycle.rows import Actor, Trigger
from tests.action_requests import requested
from tests.controller.test_queues import Controller, controller

LANE = "libvirt.dc"
N1, N2 = "/dc/n1", "/dc/n2"
MACHINES = [f"/acme/space/m{n}" for n in range(4)]


class House(Controller):
    """With nodes, and the step that empties them."""

    async def node(self, path: str, action: str = "create") -> Accepted | Rejection:
        wish = requested("node", path, Request(action, Actor.ADMIN, on_conflict=OnConflict.REJECT), "root", {}, LANE)
        answer = await self.admission.admit(*wish)
        assert isinstance(answer, Accepted | Rejection)
        return answer

    async def on(self, path: str) -> str:
        row = await self.store.resources.read(path)
        assert row is not None
        node: str = row.spec["node"]
        return node

    async def moving(self) -> list[str]:
        rows = await self.store.resources.read_many(MACHINES)
        return sorted(path for path, row in rows.items() if row.snapshot.hidden is not None)

    async def until_moving(self, count: int) -> list[str]:
        async with asyncio.timeout(60):
            while len(moving := await self.moving()) < count:
                await asyncio.sleep(0.05)
        return moving

    async def until(self, path: str, state: str) -> None:
        async with asyncio.timeout(60):
            while await self.state(path) != state:
                await asyncio.sleep(0.05)


@asynccontextmanager
async def house(dsn: str, machines: int = 4) -> AsyncIterator[House]:
    async with controller(dsn) as plain:
        one = House(plain.store)
        one.begins(("node", "PUTTING_IN_MAINTENANCE"))
        for node in (N1, N2):
            assert isinstance(await one.node(node), Accepted)
        for path in MACHINES[:machines]:
            await one.make(path, "deploy", "machine", lane=LANE)
        yield one
        for task in one.steps.background.tasks:
            task.cancel()


@pytest.mark.req("S2-11")
async def test_machines_go_where_the_fewest_are(migrated: str) -> None:
    async with house(migrated) as one:
        assert [await one.on(path) for path in MACHINES] == [N1, N2, N1, N2]
        chosen = "/acme/space/chosen"
        await one.make(chosen, "deploy", "machine", lane=LANE, spec={"node": N2})
        assert await one.on(chosen) == N2


@pytest.mark.req("S2-06", "S2-11")
async def test_maintenance_moves_machines_away_and_nobody_sees_it(migrated: str) -> None:
    async with house(migrated) as one:
        asked = await one.node(N1, "maintain")
        assert isinstance(asked, Accepted)
        first, second = await one.until_moving(2)
        assert [await one.state(path) for path in (first, second)] == ["RUNNING", "RUNNING"]
        assert await one.state(N1) == "PUTTING_IN_MAINTENANCE"
        async with asyncio.timeout(60):
            while (await one.operation(asked.operation))["says"] != "2 machines still on it":
                await asyncio.sleep(0.05)
        stop = await one.begin(first, "stop", "machine")  # one request is taken in, and shows at once
        assert await one.state(first) == "STOPPING"
        again = await one.admission.admit(*requested("machine", first, Request("pause"), "ann", {}, LANE))
        assert isinstance(again, Rejection)
        await one.report(first)
        assert (await one.on(first), await one.under_way(first)) == (N2, stop)  # and runs after the migration
        await one.report(first)
        assert await one.state(first) == "HALTED"
        await one.report(second)
        await one.until(N1, "MAINTENANCE")
        assert [await one.on(path) for path in MACHINES] == [N2] * 4


@pytest.mark.req("S2-11")
async def test_a_node_in_maintenance_takes_no_machines(migrated: str) -> None:
    async with house(migrated, machines=0) as one:
        for node in (N1, N2):
            await one.node(node, "maintain")
            await one.until(node, "MAINTENANCE")
        refused = await one.ask(MACHINES[0], "deploy", "machine", lane=LANE)
        assert isinstance(refused, Rejection)
        assert (refused.code, "its node is MAINTENANCE" in refused.reasons[0].message) == (Code.PARENT, True)
        await one.node(N2, "enable")
        await one.report(N2)
        await one.make(MACHINES[0], "deploy", "machine", lane=LANE)
        assert await one.on(MACHINES[0]) == N2


BOOK = """
WITH host AS (INSERT INTO hosts (name, lane, node) VALUES ('n1', 'rack.lab', $1) RETURNING id)
INSERT INTO allocations (host, reservation, during)
SELECT id, '/lab/monday/r0', tstzrange(now() - interval '1 hour', now() + interval '1 hour') FROM host
"""


@pytest.mark.req("S2-11", "S3-09")
async def test_node_that_is_booked_takes_machines_of_its_lease_alone(migrated: str) -> None:
    async with house(migrated, machines=0) as one:
        await one.store.pool.execute(BOOK, N1)
        refused = await one.ask(MACHINES[0], "deploy", "machine", lane=LANE, spec={"node": N1})
        assert isinstance(refused, Rejection)
        assert (refused.code, "its node is BOOKED" in refused.reasons[0].message) == (Code.PARENT, True)
        for path in MACHINES[:2]:
            await one.make(path, "deploy", "machine", lane=LANE)
        assert [await one.on(path) for path in MACHINES[:2]] == [N2, N2]
        await one.make("/lab/space/m", "deploy", "machine", lane=LANE)
        assert await one.on("/lab/space/m") == N1
        asked = await one.node(N2, "maintain")
        assert isinstance(asked, Accepted)
        await one.until(N2, "ENABLED")
        assert "no other node of libvirt.dc takes machines of acme" in (await one.operation(asked.operation))["says"]
        await one.store.pool.execute("UPDATE allocations SET over = true")
        await one.make(MACHINES[2], "deploy", "machine", lane=LANE, spec={"node": N1})


@pytest.mark.req("S2-11")
async def test_a_machine_that_cannot_be_moved_leaves_the_node_as_it_was(migrated: str) -> None:
    async with house(migrated, machines=1) as one:
        asked = await one.node(N1, "maintain")
        assert isinstance(asked, Accepted)
        for _ in range(2):
            (path,) = await one.until_moving(1)
            await one.report(path, Trigger.FAILED)
        await one.until(N1, "ENABLED")
        record = await one.operation(asked.operation)
        assert record["outcome"] == "failed"
        assert f"{MACHINES[0]} could not be moved" in record["says"]
        assert await one.on(MACHINES[0]) == N1


@pytest.mark.req("S2-11")
async def test_there_has_to_be_somewhere_to_go(migrated: str) -> None:
    async with house(migrated, machines=2) as one:
        await one.node(N2, "maintain")
        (path,) = await one.until_moving(1)
        await one.report(path)
        await one.until(N2, "MAINTENANCE")
        asked = await one.node(N1, "maintain")
        assert isinstance(asked, Accepted)
        await one.until(N1, "ENABLED")
        assert "no other node of libvirt.dc takes machines" in (await one.operation(asked.operation))["says"]


@pytest.mark.req("S2-11")
async def test_a_node_with_machines_is_not_taken_out(migrated: str) -> None:
    async with house(migrated, machines=1) as one:
        refused = await one.node(N1, "decommission")
        assert isinstance(refused, Rejection)
        assert refused.code is Code.NOT_EMPTY
        assert isinstance(await one.node(N2, "decommission"), Accepted)
        await one.report(N2)
        assert await one.state(N2) == "DECOMMISSIONED"


@pytest.mark.long
async def test_of_a_machine_and_the_maintenance_of_its_node_one_comes_first(migrated: str) -> None:
    """Whichever it is: a node in maintenance has no machine that runs on it."""
    async with house(migrated, machines=0) as one:
        for turn in range(10):
            path = f"/acme/space/r{turn}"
            answers = await asyncio.gather(
                one.node(N1, "maintain"), one.ask(path, "deploy", "machine", lane=LANE, spec={"node": N1})
            )
            assert isinstance(answers[0], Accepted)
            if isinstance(answers[1], Accepted):
                await asyncio.sleep(0.2)
                assert await one.state(N1) == "PUTTING_IN_MAINTENANCE"
                await one.report(path)  # it is there, and is moved away
                async with asyncio.timeout(60):
                    while await one.on(path) == N1:
                        row = await one.store.resources.read(path)
                        if row is not None and row.snapshot.hidden is not None:
                            await one.report(path)
                        await asyncio.sleep(0.05)
            await one.until(N1, "MAINTENANCE")
            await one.node(N1, "enable")
            await one.report(N1)
