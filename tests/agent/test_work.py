"""What an agent says of an order that its provider accepted, and that came to something else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from stead.agent.work import Work
from stead.bus.messages import Order, OrderMember, ReportResult
from stead.drivers.sim.driver import SimDriver
from stead.lifecycle.snapshot import Fence
from tests.drivers.cloud import SimWorld

FENCE = Fence(0, 7)


@pytest.fixture
async def driver(world: SimWorld) -> AsyncIterator[SimDriver]:
    speaker = world.driver()
    yield speaker
    await speaker.close()


async def done(driver: SimDriver, world: SimWorld, verb: str, member: OrderMember) -> ReportResult:
    order = Order(
        id=1, lane="aws.a", kind="vm", verb=verb, token=f"t.{verb}", operation="op", attempt=1, members=[member],
        deadline=0.0,
    )  # fmt: skip
    (said,) = await Work(driver).do(order, {member.path: FENCE}, lambda: None)
    return said


async def made(driver: SimDriver, world: SimWorld) -> OrderMember:
    one = world.member()
    new = OrderMember(one.path, FENCE, one.token, dict(one.spec))
    said = await done(driver, world, "create", new)
    assert said.kind == "done"
    return OrderMember(one.path, FENCE, one.token, dict(one.spec), dict(said.facts))


async def test_what_was_accepted_and_arrives_is_done(driver: SimDriver, world: SimWorld) -> None:
    await world.fault(kind="slow", seconds=0.3)
    member = await made(driver, world)
    assert (await done(driver, world, "suspend", member)).kind == "done"
    assert (await done(driver, world, "terminate", member)).kind == "done"


@pytest.mark.parametrize(("verb", "do", "became"), [("suspend", "delete", "absent"), ("reboot", "stop", "Suspended")])
async def test_what_was_accepted_and_came_to_something_else_has_failed(
    driver: SimDriver, world: SimWorld, verb: str, do: str, became: str
) -> None:
    member = await made(driver, world)
    await world.fault(kind="slow", seconds=60)
    doing = asyncio.create_task(done(driver, world, verb, member))
    while not await world.calls(verb):
        await asyncio.sleep(0.02)
    await world.heal()
    await world.drift(do, tokens=[member.token])
    said = await doing
    assert (said.kind, said.error) == ("failed", f"the provider accepted it, and afterwards it was {became}")
