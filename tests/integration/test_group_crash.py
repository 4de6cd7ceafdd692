"""A controller dies while a group's operation waits for a member that had joined another one: the next goes on."""

from __future__ import annotations

import asyncio

import pytest

from stead.drivers.sim.driver import RACK
from stead.store import Store
from tests.drivers.cloud import SimWorld
from tests.integration.grounds import Ground, Grounds
from tests.integration.lives import Moment, Process
from tests.leases.lab import terms

LEASE = "/lab/monday"
EXPANSION = "commit "
"""The commit that asks members and writes none of them: the only one joined what is in progress on it."""


class Rack:
    """A lease of one host, handed over by an agent in a process of its own."""

    def __init__(self, ground: Ground) -> None:
        self.ground = ground
        ground.path = LEASE
        self.world = SimWorld(ground.of.cloud, ground.world.region, RACK)
        ground.lane = f"{RACK}.{ground.world.region}"

    async def active(self) -> Process:
        """A controller with a lease that has begun."""
        async with Store.open(self.ground.dsn, connections=1) as store:
            await store.hosts.put("h1", self.ground.lane, {}, None)
        controller, agent = await self.ground.controller(), await self.ground.agent()
        await self.ground.soon(agent.told_all.wait(), "full state")
        await self.ask(controller, "create", spec=terms(0, 1000))
        await self.until("ACTIVE")
        return controller

    async def ask(self, controller: Process, action: str, **more: object) -> None:
        controller.ask(kind="lease", action=action, path=LEASE, lane="", key=action, **{"spec": {}, **more})
        answer = await self.ground.soon(controller.answer(), "answer")
        assert answer["kind"] == "Accepted", answer

    async def until(self, state: str) -> None:
        await self.ground.until("SELECT FROM resources WHERE path = $1 AND state = $2", state)


@pytest.mark.slow
@pytest.mark.req("S3-06")
async def test_lease_delete_ends_after_controller_died_waiting_for_release(grounds: Grounds) -> None:
    async with grounds.one() as ground:
        rack = Rack(ground)
        first = await rack.active()
        await rack.world.fault(verb="terminate-reservation", kind="slow", seconds=3, times=1)
        await rack.ask(first, "terminate")
        await ground.until("SELECT FROM orders WHERE $1 <> '' AND verb = 'release' AND agent IS NOT NULL")
        await first.choose(Moment(EXPANSION, when="after"))
        await rack.ask(first, "delete")
        await asyncio.wait_for(first.died.wait(), 60)
        (waits,) = await ground.fetch(
            "SELECT o.remaining FROM operations o JOIN operation_waits w ON w.operation = o.id WHERE o.path = $1"
        )
        assert waits["remaining"] == 1
        await ground.controller()
        await ground.until(
            "SELECT FROM ended_operations WHERE path = $1 AND action = 'delete' AND outcome = 'succeeded'"
        )
        assert await ground.fetch("SELECT FROM resources WHERE path LIKE $1 || '%'") == []
        assert await ground.fetch("SELECT FROM operation_waits WHERE $1 <> ''") == []
        last = await ground.fetch(
            "SELECT target FROM journal WHERE path = $1 || '/r0' AND detail = 'release' ORDER BY id DESC LIMIT 1"
        )
        assert last[0]["target"] == "deleted"  # it was taken back before it was forgotten
        await rack.world.close()
