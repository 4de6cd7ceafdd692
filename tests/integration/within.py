"""A controller and an agent within the test, so that it can reach into their ways of speaking."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from stead.agent import Agent
from stead.bus import Bus
from stead.controller.admission.request import Accepted
from stead.controller.runtime import Controller
from stead.lifecycle.events import Request
from stead.lifecycle.pace import Pace
from tests.action_requests import AuthorizedRequest, requested
from tests.integration import whole
from tests.integration.doomed import PACE
from tests.integration.grounds import Ground


@asynccontextmanager
async def controller(ground: Ground, *, pace: Pace = PACE) -> AsyncIterator[Controller]:
    async with whole.controller(ground.dsn, ground.of.nats, ground.cell, pace=pace) as one:
        yield one


@asynccontextmanager
async def agent(ground: Ground, name: str = "a1", *, pace: Pace = PACE) -> AsyncIterator[Agent]:
    """A new run of an agent."""
    driver = ground.world.driver(timeout=pace.call)
    async with Bus(ground.of.nats.url, ground.cell, agent=name) as bus:
        await bus.connect(60)
        one = Agent(bus, name, {ground.lane: driver})
        async with whole.running(one.run()):
            yield one
    await driver.close()


def wish(ground: Ground, action: str, key: str = "", **request: Any) -> AuthorizedRequest:
    return requested("vm", ground.path, Request(action, **request), "ann", {"cpu": 2}, ground.lane, key)


async def ask(one: Controller, ground: Ground, action: str, **request: Any) -> Accepted:
    """Ask for something that is to be accepted."""
    answer = await one.admission.admit(*wish(ground, action, **request))
    assert isinstance(answer, Accepted), answer
    return answer


async def settled(ground: Ground, state: str) -> None:
    await ground.until("SELECT FROM resources WHERE path = $1 AND state = $2 AND operation IS NULL", state)


async def carry(one: Controller, ground: Ground, steps: Mapping[str, str]) -> None:
    """Actions one after the other, each with the state it brings."""
    for action, state in steps.items():
        await ask(one, ground, action)
        await settled(ground, state)
