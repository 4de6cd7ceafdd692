"""What an agent says of an order that its provider accepted: what it saw, or nothing where that is another thing."""

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


async def said(driver: SimDriver, verb: str, member: OrderMember) -> list[ReportResult]:
    order = Order(1, "aws.a", "vm", verb, f"t.{verb}", "op", 1, [member], 0.0)
    return await Work(driver).do(order, {member.path: FENCE}, lambda: None)


async def made(driver: SimDriver, world: SimWorld) -> OrderMember:
    one = world.member()
    (result,) = await said(driver, "create", OrderMember(one.path, FENCE, one.token, dict(one.spec)))
    assert result.kind == "done"
    return OrderMember(one.path, FENCE, one.token, dict(one.spec), dict(result.facts))


async def meanwhile(driver: SimDriver, world: SimWorld, verb: str, do: str) -> list[ReportResult]:
    """What is said of a member to which something else happens while it is on its way."""
    member = await made(driver, world)
    await world.fault(kind="slow", seconds=60)
    doing = asyncio.create_task(said(driver, verb, member))
    while not await world.calls(verb):
        await asyncio.sleep(0.02)
    await world.heal()
    await world.drift(do, tokens=[member.token])
    return await doing


async def test_what_was_accepted_and_arrives_is_done(driver: SimDriver, world: SimWorld) -> None:
    await world.fault(kind="slow", seconds=0.3)
    member = await made(driver, world)
    for verb in ("suspend", "terminate"):
        assert [result.kind for result in await said(driver, verb, member)] == ["done"]


@pytest.mark.parametrize(("verb", "do"), [("suspend", "delete"), ("reboot", "stop")])
async def test_of_what_came_to_something_else_nothing_is_said(
    driver: SimDriver, world: SimWorld, verb: str, do: str
) -> None:
    assert await meanwhile(driver, world, verb, do) == []


async def test_what_was_accepted_and_is_broken_has_failed(driver: SimDriver, world: SimWorld) -> None:
    (result,) = await meanwhile(driver, world, "suspend", "break")
    assert (result.kind, result.error) == ("failed", "the provider accepted it, and it is broken")
